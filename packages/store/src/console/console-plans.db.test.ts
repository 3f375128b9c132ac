import { beforeAll, expect, test } from '@jest/globals';
import type { AccountId, EventId, RecoveryId, WebhookId } from '@postrider/domain';
import type { TestDatabase } from '@postrider/testing';
import { setupPlanStore } from '../../test/plan-store.ts';
import { rowsRead } from '../../test/rows-read.ts';
import { readLastMinuteOf } from '../attempt-sums/read-sums.ts';
import type { Database } from '../db/database.ts';
import { readLateWebhooks } from '../deliveries/backlog.ts';
import {
  countDeadLettersBefore,
  countDeadLettersByHour,
  countFoundDeadLetters,
  findDeadLetters,
} from '../deliveries/find-dead-letters.ts';
import { summarizeEvents } from '../events/event-summaries.ts';
import {
  countHeldMessages,
  countHeldOf,
  findHeldMessages,
  listReleasedMessages,
} from '../inbound/held-messages.ts';
import { readUnsentMail } from '../mail/unsent-mail.ts';
import { createRecoveryLookUps } from '../recoveries/find-recoveries.ts';
import { readFreshEvents } from '../recoveries/fresh-events.ts';
import { readFailingWebhooks } from '../webhooks/failing-webhooks.ts';
import { readInFlight } from '../webhooks/in-flight.ts';

/* A plan that is kept must not depend on how large the tables were when it was made (decision 0012). */

const GROWN_BY = 30_000;
/** A list reads little more than it shows. */
const LIST_MAX = 1_500;
/** A number is counted up to 10,000. Each entry counts as read in the index and in the table. */
const COUNT_MAX = 25_000;
/** 10,000 dead letters, each with a look at its webhook. */
const LETTER_COUNT_MAX = 45_000;
const LIMIT = 20;
const ACCOUNT = 'acct_01jd0000000000000000000001' as AccountId;
/** With half of the held messages. */
const HOLDER = 'acct_holder' as AccountId;
/** With 50 dead letters and 30 recoveries. All others belong to another webhook. */
const WEBHOOK = 'wh_01jd0000000000000000000001' as WebhookId;
const RECOVERY = 'rec_01jd0000000000000000000007' as RecoveryId;
const EVENTS = [15_000, 15_001].map((n) => `evt_01jd00000000000000000${n}` as EventId);

let database: TestDatabase;
let db: Database;

const plans = setupPlanStore();
beforeAll(() => void ({ db, database } = plans));

const id = (prefix: string, n = 'n') => `'${prefix}_01jd' || lpad(${n}::text, 22, '0')`;
const webhookOf = (own: string) => `case when ${own} then '${WEBHOOK}' else 'wh_other' end`;

const GROW = [
  `create temp table numbers as select n from generate_series(1, ${GROWN_BY}) n`,
  `insert into webhooks (id, account_id, endpoint, events, secret_key_id, secret_sealed, failing_since)
   select case when n = 1 then '${WEBHOOK}' when n = 2 then 'wh_other' else ${id('wh', '(n + 9)')} end,
          case when n = 1 then '${ACCOUNT}' else 'acct_other' end, 'https://h' || n || '.example/', '{}', 'k', '\\x01',
          case when n % 3000 = 0 then now() end
   from numbers`,
  `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts, reason, last_error, created_at)
   select ${id('dl')}, case when n <= 50 then '${ACCOUNT}' else 'acct_other' end, ${webhookOf('n <= 50')}, ${id('evt')},
          'email.sent', now(), '{}', 8, 'attempts_exhausted', 'x', now() - n * interval '1 s'
   from numbers`,
  `insert into messages (id, account_id, kind, status, held_reason, created_at, content_digest, blob, size, from_address,
                         to_addresses, cc_addresses, reply_to_addresses, received_for, headers, spf, dkim, dmarc, automatic)
   select ${id('msg')}, case when n % 2 = 0 then '${HOLDER}' else 'acct_other' end, 'live', case when n > 15 then 'held' else 'released' end::message_status, 'spam',
          now() - n * interval '1 s', '\\x01', 'b', 1, 'p@d.example', '{}', '{}', '{}', '{x@in.example}', '{}',
          'pass', 'none', 'none', false
   from numbers`,
  `insert into audit (actor_kind, actor, action, account_id, target, webhook_id, count, created_at)
   select 'console', 'ada', case when n <= 15 then 'message.release' else 'recovery.start' end, 'acct_other',
          case when n <= 15 then ${id('msg')} else ${id('rec', '(n - 15)')} end, 'wh_other', 1, now() - n * interval '1 s'
   from numbers`,
  `insert into recoveries (id, account_id, webhook_id, since, until, types, undelivered_only, rate, matched, dead_letters, has_more,
                           position, last_position, created_at, ended_at)
   select ${id('rec')}, 'acct_other', case when n <= 30 then '${WEBHOOK}' when n <= 35 then ${id('wh', '(n + 100)')} else 'wh_other' end,
          now(), now(), '{}', true, 1, 1, 0, false, 0, 0, now() - n * interval '1 s',
          case when n = 1 or n between 31 and 35 then null else now() end
   from numbers`,
  `insert into events (id, account_id, type, created_at, data)
   select ${id('evt')}, 'acct_other', 'email.bounced', now() - n * interval '1 s', '{"recipients":["a@a.example"]}'
   from numbers order by n desc`, // positions follow the time
  `insert into emails (id, account_id, kind, status, from_address, from_domain, to_addresses, cc_addresses, bcc_addresses,
                       reply_to_addresses, subject, text, headers, last_event, created_at)
   select ${id('em')}, 'acct_other', 'live', 'sent', 'a@a.example', 'a.example', '{b@b.example}', '{}', '{}', '{}', 'Hi', 'Hello', '{}',
          'sent', now()
   from numbers`,
  `update events set type = 'email.sent', data = '{"email_id":"em_01jd' || right(id, 22) || '"}' where id = '${EVENTS[0]}'`,
  `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status)
   select now() - n * interval '1 s', 1, ${id('evt')}, 'wh_other', 1, 1, 503 from numbers`,
  `insert into deliveries (event_id, webhook_id, due_at, taken_at, leased_until)
   select ${id('evt')}, ${webhookOf('n % 3 = 0')}, now() - n * interval '1 s',
          case when n > 29000 then now() end, case when n > 29000 then now() + interval '1 hour' end
   from numbers`,
  `insert into attempts_by_minute (webhook_id, begins_at, attempts, successes, durations, slowest_ms)
   select '${WEBHOOK}', date_trunc('minute', now()) - n * interval '1 minute', 7, 7, '{7}', 5 from numbers`,
  `insert into attempts_by_minute (webhook_id, begins_at, attempts, successes, durations, slowest_ms)
   select ${id('wh', '(n + 9)')}, date_trunc('minute', now()) - interval '1 minute', 9, 9, '{9}', 5 from numbers`,
  `insert into attempt_sums select true, t, t from date_trunc('minute', now()) t`,
  `insert into email_sends (email_id, due_at) select ${id('em')}, now() from numbers`,
];

/** Fills the tables, without a check of foreign keys. */
async function grow(): Promise<void> {
  const sql = [
    'begin',
    'set local session_replication_role = replica',
    ...GROW,
    'drop table numbers',
    'commit',
  ];
  await database.query(sql.join(';\n'));
}

const page = { after: null, limit: LIMIT };
const hours = Array.from({ length: 24 }, (_, n) => new Date(Date.now() - n * 3_600_000));
/** Half of the events are older. */
const HALF = new Date(Date.now() - (GROWN_BY / 2) * 1_000);
const since = new Date(Date.now() - 86_400_000);
const recoveries = () => createRecoveryLookUps(db);
const heldMessages = async (filter: Parameters<typeof findHeldMessages>[1]) =>
  (await findHeldMessages(db, filter, page)).messages.length;

/** With the number of rows that each finds, and what it may read. */
const READS: [string, () => Promise<number>, number, number][] = [
  ['dead letters of all', async () => (await findDeadLetters(db, {}, page)).letters.length, LIMIT, LIST_MAX],
  [
    'dead letters of an account',
    async () => (await findDeadLetters(db, { accountId: ACCOUNT }, page)).letters.length,
    LIMIT,
    LIST_MAX,
  ],
  [
    'dead letters of a webhook',
    async () => (await findDeadLetters(db, { webhookId: WEBHOOK }, page)).letters.length,
    LIMIT,
    LIST_MAX,
  ],
  [
    'dead letters with a status that none has',
    async () => (await findDeadLetters(db, { status: { from: 500, to: 599 } }, page)).letters.length,
    0,
    COUNT_MAX,
  ],
  [
    'the number of dead letters with a status that none has',
    async () => (await countFoundDeadLetters(db, { status: { from: 500, to: 599 } })).found,
    0,
    COUNT_MAX,
  ],
  [
    'the number of dead letters',
    async () => (await countFoundDeadLetters(db, {})).found,
    10_000,
    LETTER_COUNT_MAX,
  ],
  [
    'the number of a webhook’s dead letters',
    async () => (await countFoundDeadLetters(db, { webhookId: WEBHOOK })).found,
    50,
    LIST_MAX,
  ],
  [
    'the number of a webhook’s dead letters before a time',
    async () =>
      (await countDeadLettersBefore(db, [WEBHOOK], { before: new Date() })).get(WEBHOOK)?.found ?? 0,
    50,
    LIST_MAX,
  ],
  [
    'dead letters by hour',
    async () => Math.max(...(await countDeadLettersByHour(db, hours)).map(({ found }) => found)),
    1_000,
    COUNT_MAX,
  ],
  ['held mail', async () => heldMessages({}), LIMIT, LIST_MAX],
  ['held mail with a reason that none has', async () => heldMessages({ reason: 'virus' }), 0, COUNT_MAX],
  ['held mail of an account', async () => heldMessages({ accountId: HOLDER }), LIMIT, COUNT_MAX],
  [
    'held mail of an account with a reason that none has',
    async () => heldMessages({ accountId: HOLDER, reason: 'virus' }),
    0,
    COUNT_MAX,
  ],
  [
    'the number of held messages',
    async () => (await countHeldMessages(db)).byReason[0]?.messages ?? 0,
    10_000,
    COUNT_MAX,
  ],
  ['the number of an account’s held messages', async () => countHeldOf(db, HOLDER), 500, LIST_MAX],
  ['the last minute of an account', async () => readLastMinuteOf(db.pool, ACCOUNT), 7, LIST_MAX],
  [
    'released mail',
    async () => (await listReleasedMessages(db, { since, accountId: undefined }, LIMIT)).length,
    15,
    LIST_MAX,
  ],
  [
    'fresh events beside a recovery',
    async () => {
      const owner = { accountId: 'acct_other' as AccountId, webhookId: 'wh_other' as WebhookId };
      const { since: fresh, before } = await readFreshEvents(db, { ...owner, at: HALF });
      return (fresh?.events ?? 0) + (before?.events ?? 0);
    },
    200,
    LIST_MAX * 2,
  ],
  ['attempts in flight of a webhook', async () => readInFlight(db, WEBHOOK), 334, LIST_MAX * 2],
  ['failing webhooks', async () => (await readFailingWebhooks(db.pool, LIMIT)).length, 10, LIST_MAX],
  ['webhooks with late events', async () => (await readLateWebhooks(db.pool, 300, 2)).length, 2, LIST_MAX],
  ['unsent mail', async () => (await readUnsentMail(db)).emails, 10_000, COUNT_MAX],
  [
    'the last results of events',
    async () => (await summarizeEvents(db, 'wh_other' as WebhookId, EVENTS)).size,
    2,
    LIST_MAX,
  ],
  ['a recovery', async () => ((await recoveries().find(RECOVERY)) === null ? 0 : 1), 1, LIST_MAX],
  ['recoveries of all', async () => (await recoveries().list({}, LIMIT)).length, LIMIT, LIST_MAX],
  [
    'recoveries of all behind a cursor',
    async () => (await recoveries().list({ after: RECOVERY }, LIMIT)).length,
    6,
    LIST_MAX,
  ],
  [
    'recoveries of a webhook',
    async () => (await recoveries().list({ webhookId: WEBHOOK }, LIMIT)).length,
    LIMIT,
    LIST_MAX,
  ],
  [
    'recoveries of a webhook behind a cursor',
    async () => (await recoveries().list({ webhookId: WEBHOOK, after: RECOVERY }, LIMIT)).length,
    LIMIT,
    LIST_MAX,
  ],
  ['running recoveries', async () => (await recoveries().running(LIMIT)).length, 6, LIST_MAX],
  [
    'the running recovery of a webhook',
    async () => (await recoveries().runningAt([WEBHOOK, 'wh_other' as WebhookId])).size,
    1,
    LIST_MAX,
  ],
];

test('what the console shows, planned while there was nothing, reads little more than it shows', async () => {
  for (const [, run] of READS) await run();
  await grow();
  for (const isCounted of [false, true]) {
    if (isCounted) await database.query('analyze');
    for (const [name, run, rows, readMax] of READS) {
      const before = await rowsRead(db.pool);
      expect([name, await run()]).toEqual([name, rows]);
      const read = (await rowsRead(db.pool)) - before;
      expect([name, read < readMax ? 'few' : read]).toEqual([name, 'few']);
    }
  }
});
