import { readdirSync, readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { notificationDetailOf } from '@postrider/domain';
import type { AccountId, EmailId, TopicId, WebhookId } from '@postrider/domain';
import { ACTOR, createRows, runs, untilWaitingForLock, waitFor } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { accepted, refused } from '../../test/mail-outcomes.ts';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { takeHeld } from '../../test/taken-email.ts';
import { createMailWork } from '../mail/mail-work.ts';
import type { MailWork } from '../mail/mail-work.ts';
import type { TakenEmail } from '../mail/take-mail.ts';
import { createProviderNotificationStore } from '../mail/provider-notifications.ts';
import type { ProviderReport } from '../mail/provider-notifications.ts';
import { addSuppressions } from '../mail/sql/suppressions.ts';
import { createSuppressionStore } from '../mail/suppressions.ts';
import { createTopicStore } from '../mail/topics.ts';
import { createUnsubscribeStore } from '../mail/unsubscribes.ts';
import { finishRemovals } from '../webhooks/remove-webhook.ts';
import { createWebhookStore } from '../webhooks/webhooks.ts';
import type { WebhookStore } from '../webhooks/webhooks.ts';
import { StoreUnavailableError } from './errors.ts';
import { eventCtes } from './sql/event-ctes.ts';

const NEWS = { name: 'News', description: null, defaultSubscription: 'opt_in' } as const;
const ADDRESS = 'n@b.example';
/** Of the causes whose sessions are killed at random, at least so many succeed and so many fail. */
const ENDS = runs({ usual: 5, long: 20 });

const store = setupStore();
let rows: Rows;
let webhooks: WebhookStore;
let mail: MailWork;
let accountId: AccountId;
let emailId: EmailId;
/** The message of each address that is being sent. */
let messages: Map<string, Promise<TakenEmail>>;
let topicId: TopicId;
let webhookId: WebhookId;

beforeAll(async () => {
  rows = createRows(store.outside);
  webhooks = createWebhookStore(store.db, store.secrets, store.clock);
  mail = createMailWork(store.db, store.clock, { verifiedDomainsOnly: false });
});
beforeEach(async () => {
  messages = new Map();
  emailId = await rows.email();
  await store.outside.query('update emails set provider_message_id = id where id = $1', [emailId]);
  const [owner] = await store.outside.query<{ account_id: AccountId }>(
    'select account_id from emails where id = $1',
    [emailId],
  );
  accountId = owner?.account_id as AccountId;
  topicId = await createTopicStore(store.db, store.clock).create(accountId, NEWS);
  webhookId = await rows.webhook({ accountId });
});

/**
 * Each suppresses the address, stores a report about it, or ends the send of its message, and makes one
 * event for each of these: by one of the ways to write one.
 */
const CAUSES: readonly [way: string, make: (address: string) => Promise<unknown>][] = [
  [
    'in its own statement: a suppression',
    (address) => createSuppressionStore(store.db, store.clock).add(accountId, [address]),
  ],
  [
    'in its own statement: several suppressions',
    (address) => createSuppressionStore(store.db, store.clock).add(accountId, [`a${address}`, address]),
  ],
  [
    'in its own statement: an unsubscribe',
    (address) =>
      createUnsubscribeStore(store.db, store.clock).unsubscribe({ accountId, topicId, address }, 'page'),
  ],
  ['in its own statement: a click', (address) => report('email.clicked', address, [], { emailId })],
  ['in its own statement: a complaint', (address) => complaint(address, { emailId })],
  [
    'behind a lock: a complaint by the provider’s id',
    (address) => complaint(address, { providerMessageId: emailId }),
  ],
  [
    'behind a lock: a message that was sent, together with others or alone',
    async (address) => {
      const [email, providerMessageId] = [await messageTo(address), `p/${accountId}/${address}`];
      const { size } = await mail.endTogether('sent', [{ email, providerMessageId, error: null }]);
      return (
        size > 0 ||
        (await mail.recordAlone(email, accepted({ providerMessageId, notifications: [] }))) !== null
      );
    },
  ],
  [
    'behind a lock: a message that failed',
    async (address) => mail.recordAlone(await messageTo(address), refused('no such domain')),
  ],
  [
    'by recordEvent: a message that was sent and that bounced at once',
    async (address) =>
      mail.recordAlone(
        await messageTo(address),
        accepted({
          providerMessageId: `p/${accountId}/${address}`,
          notifications: [{ type: 'email.bounced', recipients: [address], detail: notificationDetailOf({}) }],
        }),
      ),
  ],
];

type Whose = Pick<ProviderReport, 'emailId' | 'providerMessageId'>;

function complaint(address: string, whose: Partial<Whose>): Promise<unknown> {
  return report('email.complained', address, [{ address, reason: 'complaint' }], whose);
}

function report(
  type: 'email.clicked' | 'email.complained',
  address: string,
  suppress: ProviderReport['suppress'],
  whose: Partial<Whose>,
): Promise<unknown> {
  const said = { occurredAt: '2026-03-01T11:59:59.000Z', detail: notificationDetailOf({}) };
  return createProviderNotificationStore(store.db, store.clock).record({
    notificationId: `${type}/${accountId}/${address}`,
    emailId: null,
    providerMessageId: null,
    writtenEmailId: null,
    ...whose,
    suppress,
    event: { type, recipients: [address], ...said },
  });
}

/** One message for each address, which is its subject; a worker has taken it. */
function messageTo(address: string): Promise<TakenEmail> {
  const known = messages.get(address) ?? takenMessage(address);
  messages.set(address, known);
  return known;
}

async function takenMessage(address: string): Promise<TakenEmail> {
  const id = await rows.email(undefined, accountId);
  await store.outside.query('update emails set subject = $2 where id = $1', [id, address]);
  return takeHeld(mail, { emailId: id, claim: 0 });
}

/**
 * The addresses that are suppressed, that a click was reported of, or whose message has ended; and those that
 * events tell of.
 */
async function causesAndEvents(): Promise<{ causes: string[]; events: string[] }> {
  const addressesOf = async (sql: string) =>
    (await store.outside.query<{ address: string }>(sql, [accountId])).map(({ address }) => address);
  return {
    causes: await addressesOf(
      `select address from suppressions where account_id = $1
       union all
       select split_part(message_id, '/', 3) from provider_notifications
       where message_id like 'email.clicked/' || $1 || '/%'
       union all
       select subject from emails where account_id = $1 and status <> 'queued' order by 1`,
    ),
    events: await addressesOf(
      `select coalesce(data::json ->> 'to', data::json -> 'recipients' ->> 0, data::json ->> 'subject') as address
       from events where account_id = $1 order by 1`,
    ),
  };
}

/** Every cause has one event, every event a cause, and every delivery a webhook. @returns the addresses */
async function expectOneEventEach(): Promise<string[]> {
  const { causes, events } = await causesAndEvents();
  expect(events).toEqual(causes);
  const lost = await store.outside.query(
    'select from deliveries d where not exists (select from webhooks w where w.id = d.webhook_id)',
  );
  expect(lost).toEqual([]);
  return causes;
}

/** As deliveries, the webhooks of each event. */
function deliveries() {
  return store.outside.query(
    'select d.webhook_id from deliveries d join events e on e.id = d.event_id where e.account_id = $1',
    [accountId],
  );
}

/** Runs `meanwhile` while the cause waits for another of the same kind, which is then undone. */
async function waitingForAnother(
  make: (address: string) => Promise<unknown>,
  meanwhile: () => Promise<unknown>,
): Promise<void> {
  const { emailId: message } = await messageTo(ADDRESS);
  await inUndoneTransaction(store.db.pool, async (other) => {
    await other.query('select from emails where id = $1 for update', [message]);
    await other.query(
      `insert into suppressions (id, account_id, address, topic_id, origin, created_at)
       select gen_random_uuid(), $1, $2, about, 'manual', now() from unnest($3::text[]) about`,
      [accountId, ADDRESS, ['', topicId]],
    );
    await other.query('insert into provider_notifications (message_id) values ($1)', [
      `email.clicked/${accountId}/${ADDRESS}`,
    ]);
    const settled = Promise.allSettled([make(ADDRESS)]);
    await untilWaitingForLock(store.outside);
    await meanwhile();
    await other.query('rollback');
    const [made] = await settled;
    if (made.status === 'rejected') throw made.reason;
  });
}

/** Ends the sessions that wait for a lock. */
async function killWaiting(): Promise<void> {
  await store.outside.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  );
}

/** A killed session may be idle again. Then no statement fails, and the pool drops the session a little later. */
async function untilPoolKnowsItsSessions(): Promise<void> {
  const isKnown = async () => {
    const sessions = await store.outside.query(
      `select from pg_stat_activity where datname = current_database() and application_name = 'store-test'`,
    );
    return sessions.length === store.db.pool.totalCount;
  };
  await waitFor(isKnown, { what: 'the pool to drop the killed session', intervalMs: 2 });
}

describe.each(CAUSES)('an event written %s', (_, make) => {
  test('is one, of many at once for one address, and has one delivery', async () => {
    await Promise.all(Array.from({ length: 8 }, () => make(ADDRESS)));
    const addresses = await expectOneEventEach();
    expect(addresses).toContain(ADDRESS);
    expect(await deliveries()).toEqual(addresses.map(() => ({ webhook_id: webhookId })));
  });

  test('is there when the cause it waited for was undone', async () => {
    await waitingForAnother(make, async () => undefined);
    expect(await expectOneEventEach()).toContain(ADDRESS);
    expect(await deliveries()).toHaveLength((await causesAndEvents()).events.length);
  });

  test('locks no webhook before its cause has all its locks, and reaches none that was deleted till then', async () => {
    await waitingForAnother(make, async () => {
      expect(await webhooks.delete(accountId, webhookId, ACTOR)).toBe(true);
      expect(await store.outside.query('select from webhooks where id = $1', [webhookId])).toEqual([]);
    });
    expect(await expectOneEventEach()).toContain(ADDRESS);
    expect(await deliveries()).toEqual([]);
  });

  test('leaves nothing behind of a webhook that is marked as removed while the cause waits', async () => {
    await waitingForAnother(make, async () =>
      store.outside.query(`update webhooks set removed_at = now() - interval '1 hour' where id = $1`, [
        webhookId,
      ]),
    );
    await finishRemovals(store.db.pool);
    expect(await expectOneEventEach()).toContain(ADDRESS);
    expect(await deliveries()).toEqual([]);
  });

  test('is undone with its cause when the session is killed before the one', async () => {
    const waited = waitingForAnother(make, killWaiting);
    await expect(waited).rejects.toThrow(StoreUnavailableError);
    expect(await expectOneEventEach()).toEqual([]);
    await make(ADDRESS);
    expect(await expectOneEventEach()).toContain(ADDRESS);
  });

  test('is undone with its cause when the session is killed between the two', async () => {
    await inUndoneTransaction(store.db.pool, async (deletion) => {
      await deletion.query('delete from webhooks where id = $1', [webhookId]);
      const failed = expect(make(ADDRESS)).rejects.toThrow(StoreUnavailableError);
      await untilWaitingForLock(store.outside);
      await killWaiting();
      await failed;
    });
    expect(await expectOneEventEach()).toEqual([]);
    await make(ADDRESS);
    expect(await expectOneEventEach()).toContain(ADDRESS);
    expect(await deliveries()).toHaveLength((await causesAndEvents()).events.length);
  });

  test('is there exactly when its cause is, whatever is killed and deleted at any moment', async () => {
    const ends = { fulfilled: 0, rejected: 0 };
    for (let n = 0; ends.fulfilled < ENDS || ends.rejected < ENDS; n += 1) {
      const going = await rows.webhook({ accountId });
      const address = `n${n}@b.example`;
      await messageTo(address);
      const made = [make(address), make(address)];
      const works = [...made, webhooks.delete(accountId, going, ACTOR)];
      for (let turns = (7 * n) % 40; turns > 0; turns -= 1) await setImmediate();
      await store.outside.query(
        `select pg_terminate_backend(pid, 5000) from pg_stat_activity
         where datname = current_database() and application_name = 'store-test' and state <> 'idle'
         order by random() limit 1`,
      );
      await Promise.allSettled(works);
      for (const { status } of await Promise.allSettled(made)) ends[status] += 1;
      await untilPoolKnowsItsSessions();
    }
    await store.outside.query(
      `update webhooks set removed_at = now() - interval '1 hour' where removed_at is not null`,
    );
    await finishRemovals(store.db.pool);
    expect((await expectOneEventEach()).length).toBeGreaterThan(0);
  });
});

test('the webhooks are locked once a cause has written all of its rows, whatever its statement returns', async () => {
  const text = `
    with added as (
      insert into suppressions (id, account_id, address, origin, created_at)
      select a.address, $2::text, a.address, 'manual', now() from unnest($1::text[]) as a (address)
      returning id
    ),
    fresh as materialized (select a.id, $2::text as account_id, ($4::text[])[1] as data, '[]'::json as recipients from added a),
    ${eventCtes('fresh')}
    select m.id from matching m`;
  const values = [['first@b.example', ADDRESS], accountId, 'email.unsubscribed', ['{}'], null];
  const make = async () => expect((await store.db.pool.query(text, values)).rows).toEqual([]);
  await waitingForAnother(make, async () => {
    expect(await webhooks.delete(accountId, webhookId, ACTOR)).toBe(true);
    expect(await store.outside.query('select from webhooks where id = $1', [webhookId])).toEqual([]);
  });
});

test('a send locks no webhook before it has suppressed every address that the provider blames', async () => {
  const email = await messageTo('subject');
  const detail = notificationDetailOf({});
  await inUndoneTransaction(store.db.pool, async (other) => {
    await other.query(
      `insert into suppressions (id, account_id, address, origin, created_at)
       values (gen_random_uuid(), $1, $2, 'manual', now())`,
      [accountId, ADDRESS],
    );
    const sent = mail.recordAlone(
      email,
      accepted({
        providerMessageId: null,
        notifications: [{ type: 'email.bounced', recipients: [ADDRESS], detail }],
      }),
    );
    await untilWaitingForLock(store.outside);
    expect(await webhooks.delete(accountId, webhookId, ACTOR)).toBe(true);
    expect(await store.outside.query('select from webhooks where id = $1', [webhookId])).toEqual([]);
    await other.query('rollback');
    expect(await sent).not.toBeNull();
  });
  expect((await expectOneEventEach()).toSorted()).toEqual([ADDRESS, 'subject']);
  expect(await deliveries()).toEqual([]);
});

test('a DELETE whose mark a cause does not see waits for it, and takes its delivery along', async () => {
  const event = [['evt_1'], accountId, 'email.unsubscribed', [JSON.stringify({ to: ADDRESS })], null, ['[]']];
  await inUndoneTransaction(store.db.pool, async (other) => {
    await other.query(
      `insert into suppressions (id, account_id, address, topic_id, origin, created_at)
       values ('sup_other', $1, $2, '', 'manual', now())`,
      [accountId, ADDRESS],
    );
    await inUndoneTransaction(store.db.pool, async (cause) => {
      const added = cause.query(addSuppressions.text, [...event, [ADDRESS], ['sup_1']]);
      await untilWaitingForLock(store.outside);
      await store.outside.query(`update webhooks set removed_at = now() - interval '1 hour' where id = $1`, [
        webhookId,
      ]);
      await other.query('rollback');
      expect((await added).rows).toEqual([{ addresses: [ADDRESS], ids: ['sup_1'], webhooks: [webhookId] }]);
      const removals = finishRemovals(store.db.pool);
      await untilWaitingForLock(store.outside);
      await cause.query('commit');
      expect(await removals).toEqual({ removed: 1, unfinished: 0, failed: [] });
    });
  });
  expect(await expectOneEventEach()).toEqual([ADDRESS]);
  expect(await deliveries()).toEqual([]);
});

test('a webhook is told of all that a batch made, by the ids of one event an address', async () => {
  const suppressions = createSuppressionStore(store.db, store.clock);
  await suppressions.add(accountId, ['n1@b.example']);
  await suppressions.add(accountId, ['n2@b.example', 'n1@b.example', 'n0@b.example']);
  expect(await expectOneEventEach()).toEqual(['n0@b.example', 'n1@b.example', 'n2@b.example']);
  expect(await deliveries()).toHaveLength(3);
});

/** packages/store/src */
const SOURCES = new URL('../', import.meta.url);

test('one text writes events; besides it only a replay puts one back', () => {
  const writing = /insert\s+into\s+events\b|\bevent\s*\.\s*(?:create|upsert)\w*\s*\(/i;
  const sources = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.startsWith('generated'))
    .filter((name) => writing.test(readFileSync(new URL(name, SOURCES), 'utf8')));
  expect(sources.sort()).toEqual(['db/sql/event-ctes.ts', 'deliveries/sql/replay-dead-letters.ts']);
});
