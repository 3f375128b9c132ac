import { createHash } from 'node:crypto';
import { inboundSubject, newId } from '@postrider/domain';
import type {
  AccountId,
  AttachmentId,
  DeadLetterId,
  DomainId,
  EmailId,
  EventId,
  InboxId,
  KeyKind,
  MessageId,
  RoutingRuleId,
  WebhookId,
} from '@postrider/domain';
import { systemClock } from './clock.ts';
import type { TestDatabase } from './database.ts';

/** A row of `deliveries`. Every field has a default. */
export interface DeliveryWish {
  /** The number of rows. Each is due a microsecond after the one before. */
  count?: number;
  /** The due time from now. Negative: overdue. Unset: overdue by a second. */
  dueInMs?: number;
  attempts?: number;
  lastStatus?: number;
  /** Unset: a new event of the webhook's account. */
  eventId?: EventId;
}

export interface WebhookWish {
  accountId?: AccountId;
  subject?: string;
  events?: readonly string[];
  failing?: boolean;
}

export interface EventWish {
  accountId?: AccountId;
  ageDays?: number;
  /** A search for this address finds the event. Unset: no address does. */
  recipient?: string;
}

export interface InboxWish {
  /** Unset: a new one. */
  id?: string;
  accountId?: AccountId;
  kind?: KeyKind;
  /** Unset: the id at a.example. */
  address?: string;
  isPostmaster?: boolean;
}

/** A received message. Default: plain text for a new live account, without an inbox, not held. */
export interface MessageWish {
  accountId?: AccountId;
  kind?: KeyKind;
  inboxId?: string;
  held?: boolean;
  text?: string | null;
  html?: string;
  /** The blob of the raw bytes. */
  blob?: string;
  attachments?: readonly AttachmentWish[];
}

export interface AttachmentWish {
  /** Unset: a new one. */
  id?: AttachmentId;
  filename?: string | null;
  contentType?: string;
  contentId?: string;
  /** In bytes. */
  size?: number;
  blob?: string;
}

/** Writes rows directly into the tables. */
export interface Rows {
  account(): Promise<AccountId>;
  webhook(wish?: WebhookWish): Promise<WebhookId>;
  event(wish?: EventWish): Promise<EventId>;
  /** @returns the ids in the order of their due times */
  deliveries(webhookId: WebhookId, wish?: DeliveryWish): Promise<string[]>;
  deadLetter(webhookId: WebhookId, eventId: EventId): Promise<DeadLetterId>;
  /** A message that waits for the provider. @param dueInMs like that of deliveries */
  email(dueInMs?: number, accountId?: AccountId): Promise<EmailId>;
  /** Makes the address a recipient: a search for it, or for its domain, finds the message. */
  recipient(emailId: EmailId, address: string): Promise<void>;
  /** @param status unset: verified */
  domain(accountId: AccountId, name: string, status?: string): Promise<DomainId>;
  inbox(wish?: InboxWish): Promise<InboxId>;
  /** A routing rule, with its webhook. */
  routingRule(accountId: AccountId, match: string): Promise<RoutingRuleId>;
  /** A message that was received now. */
  message(wish?: MessageWish): Promise<MessageId>;
  /** Removes all rows of all tables. */
  clear(): Promise<void>;
}

/** The data of every event. The type `jsonb` would sort its keys. */
const EVENT_DATA = '{"z":1,"a":"é"}';

export function createRows(database: Pick<TestDatabase, 'query'>): Rows {
  /** Empty when the webhook does not exist: a test may want a delivery without one. */
  async function ownerOf(webhookId: WebhookId): Promise<EventWish> {
    const [owner] = await database.query<{ accountId: AccountId }>(
      'select account_id as "accountId" from webhooks where id = $1',
      [webhookId],
    );
    return owner ?? {};
  }

  const rows: Rows = {
    async account() {
      const id = newId('account', systemClock);
      await database.query(`insert into accounts (id, name) values ($1, 'Test')`, [id]);
      return id;
    },
    async webhook({ accountId, subject, events = [], failing = false } = {}) {
      const id = newId('webhook', systemClock);
      await database.query(
        `insert into webhooks (id, account_id, subject, endpoint, events, secret_key_id, secret_sealed, failing_since)
         values ($1, $2, $3, 'https://hooks.example/in', $4, 'k', '\\x01', case when $5 then now() end)`,
        [id, accountId ?? (await rows.account()), subject ?? null, events, failing],
      );
      return id;
    },
    async event({ accountId = 'acct_none', ageDays = 0, recipient } = {}) {
      const id = newId('event', systemClock);
      const recipients = recipient === undefined ? [] : [textKey(`${accountId} ${recipient}`)];
      await database.query(
        `insert into events (id, account_id, type, created_at, data, recipients)
         values ($1, $2, 'email.sent', now() - make_interval(days => $3), $4, $5)`,
        [id, accountId, ageDays, EVENT_DATA, recipients],
      );
      return id;
    },
    async deliveries(webhookId, { count = 1, dueInMs = -1000, attempts = 0, lastStatus, eventId } = {}) {
      const event = eventId ?? (await rows.event(await ownerOf(webhookId)));
      const inserted = await database.query<{ id: string }>(
        `insert into deliveries (event_id, webhook_id, due_at, attempts, last_status)
         select $1, $2, now() + make_interval(secs => $3::float8 / 1000) + n * interval '1 microsecond', $4, $5
         from generate_series(1, $6) n
         returning id`,
        [event, webhookId, dueInMs, attempts, lastStatus ?? null, count],
      );
      return inserted.map((row) => row.id);
    },
    async deadLetter(webhookId, eventId) {
      const id = newId('deadLetter', systemClock);
      await database.query(
        `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts,
                                   reason, last_error, status_code)
         select $1, w.account_id, w.id, e.id, e.type, e.created_at, e.data, 8, 'attempts_exhausted', 'HTTP 503', 503
         from webhooks w, events e where w.id = $2 and e.id = $3`,
        [id, webhookId, eventId],
      );
      return id;
    },
    async email(dueInMs = -1000, accountId) {
      const id = newId('email', systemClock);
      await database.query(
        `insert into emails (id, account_id, kind, status, from_address, from_domain, to_addresses, cc_addresses,
                             bcc_addresses, reply_to_addresses, subject, text, headers, last_event, created_at)
         values ($1, $2, 'live', 'queued', 'a@a.example', 'a.example', '{b@b.example}', '{}', '{}', '{}', 'Hi', 'Hello',
                 '{"x-a":"1"}', 'queued', now())`,
        [id, accountId ?? (await rows.account())],
      );
      await database.query(
        `insert into email_sends (email_id, due_at) values ($1, now() + make_interval(secs => $2::float8 / 1000))`,
        [id, dueInMs],
      );
      return id;
    },
    async recipient(emailId, address) {
      const [, domain = ''] = address.split('@');
      await database.query(
        'insert into email_recipients (email_id, address_key, domain_key) values ($1, $2, $3)',
        [emailId, textKey(address), textKey(domain)],
      );
    },
    async domain(accountId, name, status = 'verified') {
      const id = newId('domain', systemClock);
      await database.query(
        `insert into domains (id, account_id, name, region, status, records, created_at)
         values ($1, $2, $3, 'eu-central-1', $4::domain_status, '[]', now())`,
        [id, accountId, name, status],
      );
      return id;
    },
    async inbox({ id, accountId, kind = 'live', address, isPostmaster = false } = {}) {
      const inboxId = (id ?? newId('inbox', systemClock)) as InboxId;
      await database.query(
        `insert into inboxes (id, account_id, kind, address, name, created_at, updated_at, postmaster)
         values ($1, $2, $3, $4, 'Test', now(), now(), $5)`,
        [inboxId, accountId ?? (await rows.account()), kind, address ?? `${inboxId}@a.example`, isPostmaster],
      );
      return inboxId;
    },
    async routingRule(accountId, match) {
      const id = newId('routingRule', systemClock);
      const webhookId = await rows.webhook({ accountId, subject: inboundSubject(accountId, id) });
      await database.query(
        `insert into inbound_routes (id, account_id, match, webhook_id, created_at) values ($1, $2, $3, $4, now())`,
        [id, accountId, match, webhookId],
      );
      return id;
    },
    async message(wish = {}) {
      return insertMessage(database, wish, wish.accountId ?? (await rows.account()));
    },
    async clear() {
      const tables = await database.query<{ name: string; large: boolean }>(TABLES_WITH_ROWS);
      if (tables.length > 0) await database.query(clearStatement(tables));
    },
  };
  return rows;
}

/** The key of a text in an index, as the store computes it in SQL: the first 8 bytes of its SHA-256. */
function textKey(text: string): string {
  return createHash('sha256').update(text).digest().readBigInt64BE().toString();
}

/**
 * The tables that have a page of rows. Running workers announce themselves in `workers`, so it stays. Only a
 * superuser may switch off foreign keys for a delete. For any other role, which TEST_DATABASE_URL may name,
 * all tables count as large.
 */
const TABLES_WITH_ROWS = `
  with sized as (
    select oid, coalesce((select sum(pg_relation_size(relid)) from pg_partition_tree(oid)), pg_relation_size(oid)) as bytes
    from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
      and relname not in ('_prisma_migrations', 'workers')
  )
  select oid::regclass::text as name, bytes > 200000 or current_setting('is_superuser') = 'off' as large
  from sized where bytes > 0`;

/**
 * Deletes the rows of small tables. If one table is large, truncates all. A truncate makes new files for the
 * table and its indexes: 80 ms for 30 tables, against 3 ms for a delete of a few rows.
 */
function clearStatement(tables: readonly { name: string; large: boolean }[]): string {
  if (tables.some(({ large }) => large))
    return `truncate ${tables.map(({ name }) => name).join(', ')} cascade`;
  const deletes = tables.map(({ name }) => `delete from ${name};`).join(' ');
  return `begin; set local session_replication_role = replica; ${deletes} commit`;
}

/** No blob has this id. */
const NO_BLOB = '0'.repeat(64);

async function insertMessage(
  database: Pick<TestDatabase, 'query'>,
  {
    kind = 'live',
    inboxId,
    held = false,
    text = 'Hello',
    html,
    blob = NO_BLOB,
    attachments = [],
  }: MessageWish,
  accountId: AccountId,
): Promise<MessageId> {
  const id = newId('message', systemClock);
  await database.query(
    `insert into messages (id, account_id, kind, inbox_id, status, held_reason, created_at, content_digest, blob, size,
                           message_id, from_address, to_addresses, cc_addresses, reply_to_addresses, received_for,
                           subject, text, html, headers, spf, dkim, dmarc, automatic)
     values ($1::text, $2, $3, $4, (case when $5 then 'held' else 'received' end)::message_status,
             case when $5 then 'spam' end, now(), sha256($1::text::bytea), $6, 1000, $1::text || '@mail.example',
             'Ann <ann@shop.example>', '{a@in.example}', '{}', '{}', '{a@in.example}', 'Hi', $7, $8,
             '[{"name":"Subject","value":"Hi"}]', 'pass', 'none', 'none', false)`,
    [id, accountId, kind, inboxId ?? null, held, blob, text, html ?? null],
  );
  for (const [position, file] of attachments.entries()) {
    const { filename = 'a.txt', contentType = 'text/plain', contentId = null, size = 3 } = file;
    await database.query(
      `insert into message_attachments (id, message_id, position, filename, content_type, content_id, size, blob)
       values ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [
        file.id ?? newId('attachment', systemClock),
        id,
        position,
        filename,
        contentType,
        contentId,
        size,
        file.blob ?? NO_BLOB,
      ],
    );
  }
  return id;
}
