import { afterEach, expect, test } from '@jest/globals';
import type { AccountId } from '@postrider/domain';
import { ACTOR, createRows, runs, setupDatabase } from '@postrider/testing';
import type { Pool } from 'pg';
import { explained } from '../../test/explained-pool.ts';
import type { ExplainedStatement } from '../../test/explained-pool.ts';
import { resumeErasures } from '../../test/resume-erasures.ts';
import { createSweptBlobs } from '../inbound/swept-blobs.ts';
import { createErasureStore } from './erasures.ts';
import { dropExpired, dropStrayAttempts } from './housekeeping.ts';
import { dropOldDeadLetters, dropSurplusDeadLetters } from './old-dead-letters.ts';
import { dropOldEvents } from './old-events.ts';
import { dropMailContents, dropOldMail } from './old-mail.ts';
import { dropOldThreads, dropReceivedMail } from './old-messages.ts';

/** A tenth of what housekeeping is meant for, in the long run. The bounds are those of one statement. */
const EVENTS = runs({ usual: 9_000, long: 1_000_000 });
/** More rows than any one statement may read, and few enough to be made in seconds. */
const ROWS = runs({ usual: 9_000, long: 60_000 });
/** Of the events, and of most other rows, so many are past their days. */
const OLD = runs({ usual: 6_000, long: 20_000 });
const ROWS_PER_STATEMENT_MAX = 5_000;
/** Of messages and mail threads, of which `OLD_MESSAGES` are past their days. */
const MESSAGES = runs({ usual: 3_000, long: 60_000 });
const MESSAGE_ROWS_PER_STATEMENT_MAX = 1_000;
const OLD_MESSAGES = runs({ usual: 1_200, long: 2_000 });
/** Messages of an account that forgets a person, a fifth of them the person's. There are twice as many events. */
const MAIL = runs({ usual: 3_000, long: 10_000 });
const ERASED_ROWS_PER_STATEMENT_MAX = 2_500;
const STATEMENT_MAX_MS = 1_000;
/** DEAD_LETTERS_PER_WEBHOOK_MAX, whose default is 10,000. One statement counts as many. */
const LETTERS_MAX = runs({ usual: 2_500, long: 10_000 });

const database = setupDatabase();
const rows = createRows(database);

afterEach(() => database.query('truncate provider_notifications, unclaimed_notifications'));

/** Statements may read it whole: it has one row for each worker. */
const SMALL_TABLE = 'workers';

/** Of the statements seen, those that break a bound. */
function beyond(
  seen: readonly ExplainedStatement[],
  rowsPerStatementMax = ROWS_PER_STATEMENT_MAX,
): readonly ExplainedStatement[] {
  return seen.filter(
    ({ ms, readWhole, rowsMax }) =>
      ms > STATEMENT_MAX_MS ||
      readWhole.some((table) => table !== SMALL_TABLE) ||
      rowsMax > rowsPerStatementMax,
  );
}

test('events go in bounded steps, whatever is outstanding and however many there are', async () => {
  const webhookId = await rows.webhook();
  await database.query(
    `insert into events (id, account_id, type, created_at, data)
     select 'evt_' || lpad(n::text, 7, '0'), 'acct_1', 'email.sent',
            now() - make_interval(days => case when n <= $2 then 31 else 0 end, secs => 0.5 * n), '{}'
     from generate_series(1, $1) n`,
    [EVENTS, OLD],
  );
  await database.query(
    `insert into deliveries (event_id, webhook_id)
     select id, $1 from events where created_at > now() - interval '30 days' or right(id, 1) = '7'`,
    [webhookId],
  );
  await database.query(
    `do $$ begin
       for n in 0..31 loop
         execute format('create table attempts_of_%s partition of attempts for values from (%L) to (%L)',
                        n, current_date - n, current_date - n + 1);
       end loop;
     end $$`,
  );
  const seen = await explained(database.url, (pool) => dropOldEvents(pool, 30));
  expect(seen.length).toBeGreaterThan(OLD / ROWS_PER_STATEMENT_MAX);
  expect(beyond(seen)).toEqual([]);
  const [left] = await database.query<{ n: number }>('select count(*)::int as n from events');
  expect(left?.n).toBe(EVENTS - 0.9 * OLD); // the young, and of the old those that end in 7
}, 300_000);

test('what is kept for a time goes in bounded steps', async () => {
  const accountId = await rows.account();
  const old = (hours: number) => `now() - make_interval(hours => case when n <= $2 then ${hours} else 0 end)`;
  const from = 'from generate_series(1, $1) n';
  const spread = `- make_interval(secs => 0.01 * n)`;
  await database.query(
    `insert into idempotency_keys (account_id, kind, route, key, request_digest, answer, created_at)
     select $3, 'live', 'r', n::text, '', '[]', ${old(25)} ${spread} ${from}`,
    [ROWS, OLD, accountId],
  );
  await database.query(`insert into provider_notifications select n, ${old(200)} ${spread} ${from}`, [
    ROWS,
    OLD,
  ]);
  await database.query(
    `insert into unclaimed_notifications select n, 'p', '{}', ${old(25)} ${spread} ${from}`,
    [ROWS, OLD],
  );
  const seen = await explained(database.url, dropExpired);
  expect(seen.length).toBeGreaterThan((3 * OLD) / ROWS_PER_STATEMENT_MAX);
  expect(beyond(seen)).toEqual([]);
  const [left] = await database.query<{ n: number }>(
    `select (select count(*) from idempotency_keys)::int + (select count(*) from provider_notifications)::int
            + (select count(*) from unclaimed_notifications)::int as n`,
  );
  expect(left?.n).toBe(3 * (ROWS - OLD));
});

test('attempts without a partition go in bounded steps', async () => {
  await database.query(
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms)
     select now() - make_interval(days => case when n <= $2 then 32 else 0 end, secs => n), n, 'evt_1', 'wh_1', 1, 5
     from generate_series(1, $1) n`,
    [ROWS, OLD],
  );
  const seen = await explained(database.url, (pool) => dropStrayAttempts(pool, 30));
  expect(seen.length).toBeGreaterThan(OLD / ROWS_PER_STATEMENT_MAX);
  expect(beyond(seen)).toEqual([]);
  const [left] = await database.query<{ n: number }>('select count(*)::int as n from attempts');
  expect(left?.n).toBe(ROWS - OLD);
});

/** Messages of one account, the first `old` of them 400 days old, those that end in 7 still to be handed over. */
async function mail(accountId: string, count: number, old: number): Promise<void> {
  await database.query(
    `with made as (
       insert into emails (id, account_id, kind, status, from_address, to_addresses, cc_addresses, bcc_addresses,
                           reply_to_addresses, subject, text, headers, last_event, created_at)
       select 'em_' || n, $1, 'live', 'sent', 'a@a.example', array['b' || n % 5 || '@b.example'], '{}', '{}', '{}', 'Hi',
              'Hello', '{}', 'sent', now() - make_interval(days => case when n <= $3 then 400 else 0 end, secs => n)
       from generate_series(1, $2) n returning id)
     insert into email_sends (email_id) select id from made where right(id, 1) = '7'`,
    [accountId, count, old],
  );
}

test('mail and its contents go in bounded steps, whatever waits to be handed over', async () => {
  const old = OLD_MESSAGES;
  await mail(await rows.account(), MESSAGES, old);
  for (const drop of [dropMailContents, dropOldMail]) {
    const seen = await explained(database.url, (pool) => drop(pool, 30));
    expect(beyond(seen, MESSAGE_ROWS_PER_STATEMENT_MAX)).toEqual([]);
  }
  const [left] = await database.query<{ n: number }>('select count(*)::int as n from emails');
  expect(left?.n).toBe(MESSAGES - 0.9 * old);
});

/** Messages of one inbox, each in a thread of its own with mail that was sent in it, the first `old` of them 40 days old. */
async function receivedMail(accountId: AccountId, count: number, old: number): Promise<void> {
  const at = `now() - make_interval(days => case when n <= ${old} then 40 else 0 end, secs => 0.1 * n)`;
  await rows.inbox({ id: 'ibx_1', accountId });
  await database.query(
    `insert into inbox_threads select 'thr_' || n, 'ibx_1', 'Hi', ${at}, ${at} from generate_series(1, $1) n`,
    [count],
  );
  await database.query(
    `insert into inbox_sends select 'em_' || n, 'ibx_1', 'thr_' || n, ${at} from generate_series(1, $1) n`,
    [count],
  );
  await database.query(
    `with made as (
       insert into messages (id, account_id, kind, inbox_id, thread_id, status, created_at, content_digest, blob, size,
         from_address, to_addresses, cc_addresses, reply_to_addresses, received_for, headers, spf, dkim, dmarc, automatic)
       select 'msg_' || n, $1, 'live', 'ibx_1', 'thr_' || n, 'received', ${at}, sha256(n::text::bytea),
              encode(sha256(n::text::bytea), 'hex'), 1, 'b' || n % 5 || '@b.example', '{}', '{}', '{}', '{}', '[]',
              'none', 'none', 'none', false
       from generate_series(1, $2) n returning id, blob)
     insert into message_attachments select 'att_' || id, id, 0, 'a', 'a/b', null, 1, blob from made`,
    [accountId, count],
  );
}

test('received mail and its threads go in bounded steps', async () => {
  const accountId = await rows.account();
  const old = OLD_MESSAGES;
  await mail(accountId, MESSAGES, 0);
  await receivedMail(accountId, MESSAGES, old);
  for (const drop of [dropReceivedMail, dropOldThreads]) {
    const seen = await explained(database.url, (pool) => drop(pool, 30));
    expect(beyond(seen, MESSAGE_ROWS_PER_STATEMENT_MAX)).toEqual([]);
  }
  const [left] = await database.query(
    `select (select count(*) from messages)::int as messages, (select count(*) from inbox_threads)::int as threads,
            (select count(*) from inbox_sends)::int as sends`,
  );
  const young = MESSAGES - old;
  expect(left).toEqual({ messages: young, threads: young, sends: young });
});

test('a sweep asks for blobs by indexes, named or not', async () => {
  const accountId = await rows.account();
  await mail(accountId, MESSAGES, 0);
  await receivedMail(accountId, MESSAGES, 0);
  const id = `encode(sha256((n * $1::int)::text::bytea), 'hex')`;
  const asked = await database.query<{ id: string }>(`select ${id} as id from generate_series(1, 500) n`, [
    MESSAGES / 300,
  ]);
  const ids = asked.map((blob) => blob.id);
  let taken: string[] | null = null;
  const take = async (pool: Pool) => (taken = await createSweptBlobs({ pool }).take(ids));
  const seen = await explained(database.url, take, 'once'); // as an inbound process's pool
  expect(taken).toHaveLength(200); // of numbers over MESSAGES
  expect(seen).toHaveLength(1);
  expect(beyond(seen, MESSAGE_ROWS_PER_STATEMENT_MAX)).toEqual([]);
});

test('dead letters go in bounded steps, past their days and over their number', async () => {
  const accountId = await rows.account();
  for (let n = 0; n < 2; n += 1) await rows.webhook({ accountId });
  await database.query(
    `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts, reason,
                               last_error, created_at)
     select 'dl_' || w.id || n, w.account_id, w.id, 'evt_1', 'email.sent', now(), '{}', 8, 'attempts_exhausted', 'x',
            now() - make_interval(days => 91 * (n % 2), secs => n)
     from webhooks w, generate_series(1, $1) n`,
    [3 * LETTERS_MAX],
  );
  expect(beyond(await explained(database.url, (pool) => dropOldDeadLetters(pool, 90)))).toEqual([]);
  const dropSurplus = (pool: Pool) => dropSurplusDeadLetters(pool, LETTERS_MAX);
  expect(beyond(await explained(database.url, dropSurplus), LETTERS_MAX + 1)).toEqual([]);
  const [left] = await database.query<{ n: number }>('select count(*)::int as n from dead_letters');
  expect(left?.n).toBe(2 * LETTERS_MAX);
});

test('a person is forgotten in bounded steps, however much the account and others have', async () => {
  const accountId = await rows.account();
  const webhookId = await rows.webhook({ accountId });
  await mail(accountId, MAIL, MAIL / 2);
  await receivedMail(accountId, MAIL, 0);
  await database.query(
    `with made as (
       insert into events (id, account_id, type, created_at, data)
       select 'evt_' || n, case when n % 10 = 0 then 'acct_other' else $1 end, 'email.sent',
              now() - make_interval(secs => n), '{"email_id":"em_' || n || '","to":["b' || n % 5 || '@b.example"]}'
       from generate_series(1, ${2 * MAIL}) n returning id)
     insert into deliveries (event_id, webhook_id) select id, $2 from made where right(id, 1) = '1'`,
    [accountId, webhookId],
  );
  await database.query(
    `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts, reason,
                               last_error)
     select 'dl_' || id, account_id, $1, id, type, created_at, data, 8, 'rejected', 'x' from events`,
    [webhookId],
  );
  const erase = async (pool: Pool) => {
    const erasures = createErasureStore(pool);
    await erasures.erase(accountId, 'b4@b.example', ACTOR);
    await database.query(`update erasures set requested_at = now() - interval '10 minutes', due_at = now()`);
    expect(await resumeErasures(erasures)).toMatchObject([{ finished: true }]);
  };
  const statements = await explained(database.url, erase);
  // The relay looks for the next one that is due among all requests, which are few.
  const steps = statements.filter(({ text }) => !text.startsWith('update erasures set due_at'));
  expect(beyond(steps, ERASED_ROWS_PER_STATEMENT_MAX)).toEqual([]);
  const [left] = await database.query(
    `select (select count(*) from emails where 'b4@b.example' = any (to_addresses))::int as emails,
            (select count(*) from messages where from_address = 'b4@b.example')::int as messages,
            (select count(*) from events where data like '%b4@b%')::int as events,
            (select count(*) from dead_letters where data like '%b4@b%')::int as letters`,
  );
  expect(left).toEqual({ emails: 0, messages: 0, events: 0, letters: 0 });
});
