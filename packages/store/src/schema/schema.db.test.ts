import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createRows } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { Prisma } from '../generated/client.ts';

/** The names that design and operators rely on, and those that came with mail and without Redis. */
const TABLES = [
  'accounts',
  'api_keys',
  'webhooks',
  'events',
  'deliveries',
  'attempts',
  'dead_letters',
  'emails',
  'domains',
  'topics',
  'suppressions',
];

const store = setupStore();
let rows: Rows;

beforeAll(async () => {
  rows = createRows(store.outside);
});
beforeEach(() => rows.clear());

async function columnsOf(table: string): Promise<{ name: string; nullable: boolean }[]> {
  const found = await store.outside.query<{ column_name: string; is_nullable: string }>(
    `select column_name, is_nullable from information_schema.columns
     where table_schema = 'public' and table_name = $1 order by 1`,
    [table],
  );
  return found.map((row) => ({ name: row.column_name, nullable: row.is_nullable === 'YES' }));
}

test('every table stands in the schema public under its name', async () => {
  const found = await store.outside.query<{ table_name: string }>(
    `select table_name from information_schema.tables where table_schema = 'public'`,
  );
  expect(found.map((row) => row.table_name)).toEqual(expect.arrayContaining(TABLES));
});

test('rows that only wait for a crash to be forgotten are in the unlogged tables, and no others', async () => {
  const unlogged = await store.outside.query(
    `select relname from pg_class where relkind = 'r' and relpersistence = 'u' and relnamespace = 'public'::regnamespace
     order by relname`,
  );
  expect(unlogged).toEqual([{ relname: 'rate_limits' }, { relname: 'workers' }]);
});

test('deliveries and attempts have no foreign key: the hot path checks nothing it does not need', async () => {
  const keys = await store.outside.query(
    `select conrelid::regclass::text from pg_constraint where contype = 'f'
       and conrelid in ('deliveries'::regclass, 'attempts'::regclass, 'dead_letters'::regclass)`,
  );
  expect(keys).toEqual([]);
});

describe('the models of the client', () => {
  /** One row of each model, read back through the client with every field it knows. */
  const models = {
    installation: async () => {
      await store.outside.query(`insert into installation (mail_provider) values ('smtp')`);
      return store.db.prisma.installation.findFirst();
    },
    accounts: async () => {
      await rows.account();
      return store.db.prisma.account.findFirst();
    },
    api_keys: async () => {
      await store.outside.query(
        `insert into api_keys (id, account_id, digest, kind, scopes) values ('key_1', $1, '\\x01', 'test', '{webhooks:manage}')`,
        [await rows.account()],
      );
      return store.db.prisma.apiKey.findFirst();
    },
    webhooks: async () => {
      await rows.webhook();
      return store.db.prisma.webhook.findFirst();
    },
    events: async () => {
      await rows.event();
      return store.db.prisma.event.findFirst();
    },
    event_recipients: async () => {
      await store.outside.query(
        `insert into event_recipients (key, type, position, event_id) values (1, 'email.sent', 2, 'evt_1')`,
      );
      return store.db.prisma.eventRecipient.findFirst();
    },
    operator_events: async () => {
      await store.outside.query(`insert into operator_events (id, type, body) values ('evt_1', 't', '{}')`);
      return store.db.prisma.operatorEvent.findFirst();
    },
    deliveries: async () => {
      await rows.deliveries(await rows.webhook());
      return store.db.prisma.delivery.findFirst();
    },
    attempts: async () => {
      await store.outside.query(
        `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms) values (now(), 1, 'evt_1', 'wh_1', 1, 5)`,
      );
      return store.db.prisma.attempt.findFirst();
    },
    attempts_by_minute: async () => {
      await store.outside.query(`insert into attempts_by_minute values ('wh_1', now(), 1, 1, '{1}', 5)`);
      return store.db.prisma.attemptMinute.findFirst();
    },
    attempts_by_hour: async () => {
      await store.outside.query(`insert into attempts_by_hour values ('wh_1', now(), 1, 1, '{1}', 5)`);
      return store.db.prisma.attemptHour.findFirst();
    },
    webhook_health: async () => {
      await store.outside.query(`insert into webhook_health values ('wh_1', now(), null)`);
      return store.db.prisma.webhookHealth.findFirst();
    },
    dead_letters: async () => {
      await rows.deadLetter(await rows.webhook(), await rows.event());
      return store.db.prisma.deadLetter.findFirst();
    },
    recoveries: async () => {
      await store.outside.query(
        `insert into recoveries (id, account_id, webhook_id, since, until, types, undelivered_only, rate, matched,
           dead_letters, has_more, position, last_position, created_at)
         values ('rec_1', 'acct_1', 'wh_1', now(), now(), '{}', true, 1, 0, 0, false, 0, 0, now())`,
      );
      return store.db.prisma.recovery.findFirst();
    },
    emails: async () => {
      await rows.email();
      return store.db.prisma.email.findFirst();
    },
    email_recipients: async () => {
      await store.outside.query(`insert into email_recipients values ('em_1', 1, 2)`);
      return store.db.prisma.emailRecipient.findFirst();
    },
    email_sends: async () => {
      await rows.email();
      return store.db.prisma.emailSend.findFirst();
    },
    email_attachments: async () => {
      await store.outside.query(
        `insert into email_attachments (email_id, position, filename, content) values ($1, 0, 'a', '\\x01')`,
        [await rows.email()],
      );
      return store.db.prisma.emailAttachment.findFirst();
    },
    idempotency_keys: async () => {
      await ofAnAccount(
        `insert into idempotency_keys (account_id, kind, route, key, request_digest, answer) values ($1, 'live', 'r', 'k', '\\x01', '{}')`,
      );
      return store.db.prisma.idempotencyKey.findFirst();
    },
    domains: async () => {
      await ofAnAccount(
        `insert into domains (account_id, id, name, region, status, records, created_at) values ($1, 'dom_1', 'a.example', 'r', 'pending', '[]', now())`,
      );
      return store.db.prisma.domain.findFirst();
    },
    released_domains: async () => {
      await store.outside.query(`insert into released_domains (name) values ('a.example')`);
      return store.db.prisma.releasedDomain.findFirst();
    },
    topics: async () => {
      await ofAnAccount(
        `insert into topics (account_id, id, name, default_subscription, created_at) values ($1, 'top_1', 'News', 'opt_in', now())`,
      );
      return store.db.prisma.topic.findFirst();
    },
    suppressions: async () => {
      await ofAnAccount(
        `insert into suppressions (account_id, id, address, origin, created_at) values ($1, 'sup_1', 'a@a.example', 'manual', now())`,
      );
      return store.db.prisma.suppression.findFirst();
    },
    provider_notifications: async () => {
      await store.outside.query(`insert into provider_notifications (message_id) values ('m')`);
      return store.db.prisma.providerNotification.findFirst();
    },
    inboxes: async () => {
      await anInbox();
      return store.db.prisma.inbox.findFirst();
    },
    released_addresses: async () => {
      await store.outside.query(`insert into released_addresses values ('a@in.example', 'acct_1', now())`);
      return store.db.prisma.releasedAddress.findFirst();
    },
    removed_inboxes: async () => {
      await store.outside.query(`insert into removed_inboxes values ('ibx_1')`);
      return store.db.prisma.removedInbox.findFirst();
    },
    inbox_threads: async () => {
      await aThread();
      return store.db.prisma.inboxThread.findFirst();
    },
    messages: async () => {
      await aMessage();
      return store.db.prisma.message.findFirst();
    },
    message_attachments: async () => {
      await store.outside.query(
        `insert into message_attachments values ('att_1', $1, 0, 'a', 'a/b', 'c', 1, 'blob')`,
        [await aMessage()],
      );
      return store.db.prisma.messageAttachment.findFirst();
    },
    ses_mail: async () => {
      await store.outside.query(
        `insert into ses_mail (notification_id, provider_message_id, source, recipients, verdicts, bucket, key)
         values ('sns-1', 'ses-1', '', '{a@a.example}', '{}', 'b', 'k')`,
      );
      return store.db.prisma.sesMail.findFirst();
    },
    inbound_routes: async () => {
      await ofAnAccount(`insert into inbound_routes values ('rt_1', $1, 'a@a.example', 'n', 'wh_1', now())`);
      return store.db.prisma.inboundRoute.findFirst();
    },
    blocked_senders: async () => {
      await ofAnAccount(`insert into blocked_senders values ('bs_1', $1, 'a.example', now())`);
      return store.db.prisma.blockedSender.findFirst();
    },
    inbox_sends: async () => {
      await store.outside.query(`insert into inbox_sends values ($1, 'ibx_1', 'thr_1', now())`, [
        await rows.email(),
      ]);
      return store.db.prisma.inboxSend.findFirst();
    },
    counted_sends: async () => {
      await store.outside.query(
        `insert into counted_sends values ('em_1', 'acct_1', 'a@a.example', 1, now())`,
      );
      return store.db.prisma.countedSend.findFirst();
    },
    console_sessions: async () => {
      await store.outside.query(`insert into console_sessions values ('\\x01', 'ada', '\\x02', now())`);
      return store.db.prisma.consoleSession.findFirst();
    },
    console_forms: async () => {
      await store.outside.query(`insert into console_forms values ('token', '/', 'Done.', now())`);
      return store.db.prisma.consoleForm.findFirst();
    },
    audit: async () => {
      await store.outside.query(
        `insert into audit (actor_kind, actor, action, target, count) values ('cli', 'ada', 'key.revoke', 'key_1', 1)`,
      );
      return store.db.prisma.auditEntry.findFirst();
    },
    unclaimed_notifications: async () => {
      await store.outside.query(`insert into unclaimed_notifications values ('m', 'p', '{}')`);
      return store.db.prisma.unclaimedNotification.findFirst();
    },
  } as const;

  const anInbox = () =>
    ofAnAccount(
      `insert into inboxes values ('ibx_1', $1, 'live', 'a@a.example', 'n', 'f', now(), now()) on conflict do nothing`,
    );

  async function aThread(): Promise<void> {
    await anInbox();
    await store.outside.query(`insert into inbox_threads values ('thr_1', 'ibx_1', 's', now(), now())`);
  }

  /** @returns its id. */
  async function aMessage(): Promise<string> {
    await aThread();
    await store.outside.query(
      `insert into messages (id, account_id, kind, inbox_id, thread_id, status, created_at, content_digest, blob, size,
         from_address, to_addresses, cc_addresses, reply_to_addresses, received_for, headers, spf, dkim, dmarc, automatic)
       select 'msg_1', account_id, kind, id, 'thr_1', 'received', now(), '\\x01', 'b', 1, 'a', '{}', '{}', '{}', '{}', '[]',
         'none', 'none', 'none', false
       from inboxes`,
    );
    return 'msg_1';
  }

  async function ofAnAccount(sql: string): Promise<void> {
    await store.outside.query(sql, [await rows.account()]);
  }

  test.each(Object.keys(models) as (keyof typeof models)[])(
    '%s: have exactly the table’s columns',
    async (table) => {
      const row = await models[table]();
      expect(row).not.toBeNull();
      const columns = await columnsOf(table);
      expect(Object.keys(row ?? {})).toHaveLength(columns.length);
      // What was not given is null only where the table allows it: a default fills the rest.
      const nulls = Object.values(row ?? {}).filter((value) => value === null).length;
      expect(nulls).toBeLessThanOrEqual(columns.filter(({ nullable }) => nullable).length);
    },
  );

  test('cover every model there is', () => {
    expect(Object.keys(models)).toHaveLength(Object.keys(Prisma.ModelName).length);
  });
});
