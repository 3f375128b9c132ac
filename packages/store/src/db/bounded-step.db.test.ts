import { beforeAll, describe, expect, test } from '@jest/globals';
import { createRows } from '@postrider/testing';
import type { Pool } from 'pg';
import { explainedPool } from '../../test/explained-pool.ts';
import type { ExplainedStatement } from '../../test/explained-pool.ts';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { dropExpired } from '../retention/housekeeping.ts';
import { dropStrayAttempts } from '../retention/old-attempts.ts';
import { dropOldAudit } from '../retention/old-audit.ts';
import { dropOldDeadLetters, dropSurplusDeadLetters } from '../retention/old-dead-letters.ts';
import { dropOldEvents } from '../retention/old-events.ts';
import { dropMailContents, dropOldMail } from '../retention/old-mail.ts';
import { inSoleStep } from './bounded-step.ts';
import type { Chore } from './bounded-step.ts';

const store = setupStore();

beforeAll(async () => {
  const rows = createRows(store.outside);
  const webhookId = await rows.webhook();
  for (let n = 0; n < 2; n += 1) {
    await rows.deadLetter(webhookId, await rows.event({ ageDays: 400 }));
    await rows.email();
  }
  await store.outside.query(`insert into provider_notifications values ('sns-1', now() - interval '9 days')`);
  await store.outside.query(
    `insert into audit (actor_kind, actor, action, target, count, created_at)
     select 'cli', 'ada', 'key.revoke', 'key_1', 1, now() - make_interval(days => n) from unnest('{364,366,367}'::int[]) n`,
  );
  await store.outside.query(`update dead_letters set created_at = now() - interval '400 days'`);
  await store.outside.query(`update emails set created_at = now() - interval '400 days'`);
  await store.outside.query('delete from email_sends');
});

const lettersOf = async (pool: Pool) =>
  (await dropSurplusDeadLetters(pool, 1)).reduce((sum, { letters }) => sum + letters, 0);

/** In an order in which none takes away what another is to drop. */
const CHORES: [Chore, number, (pool: Pool) => Promise<number>][] = [
  ['old events', 2, (pool) => dropOldEvents(pool, 30)],
  ['mail contents', 2, (pool) => dropMailContents(pool, 30)],
  ['old mail', 2, (pool) => dropOldMail(pool, 365)],
  ['surplus dead letters', 1, lettersOf],
  ['old dead letters', 1, (pool) => dropOldDeadLetters(pool, 90)],
  ['expired records', 1, dropExpired],
  ['old audit', 2, (pool) => dropOldAudit(pool, 365)],
];

test.each(CHORES)(
  '%s: while one relay is at it, the others let it be and do not wait',
  async (chore, n, drop) => {
    const { pool } = store.db;
    await inUndoneTransaction(pool, async (other) => {
      const lock = `select pg_advisory_xact_lock(hashtextextended('housekeeping/' || $1, 0))`;
      await other.query(lock, [chore]);
      expect(await drop(pool)).toBe(0);
    });
    expect(await drop(pool)).toBe(n);
  },
);

test('of many relays at once one at a time runs a step', async () => {
  let [running, most] = [0, 0];
  const step = async () => {
    running += 1;
    most = Math.max(most, running);
    await store.outside.query('select 1');
    running -= 1;
  };
  const relays = Array.from({ length: 8 }, async () => {
    for (let n = 0; n < 20; n += 1) await inSoleStep(store.db.pool, 'old mail', step);
  });
  await Promise.all(relays);
  expect(most).toBe(1);
});

describe('while a snapshot is held', () => {
  const ROWS = 10_000;
  const aged = `now() - interval '100 days' + make_interval(secs => n)`;
  const CASES: [string, string, (pool: Pool) => Promise<number>][] = [
    [
      'attempts_default_for_retention',
      `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms)
       select ${aged}, n, 'evt_1', 'wh_1', 1, 5 from generate_series(1, $1) n`,
      (pool) => dropStrayAttempts(pool, 30),
    ],
    [
      'dead_letters_for_retention',
      `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts, reason,
                                 last_error, created_at)
       select 'dl_' || n, account_id, id, 'evt_1', 'email.sent', now(), '{}', 8, 'rejected', 'x', ${aged}
       from generate_series(1, $1) n, (select account_id, id from webhooks limit 1) w`,
      (pool) => dropOldDeadLetters(pool, 90),
    ],
    [
      'dead_letters_of_webhook_by_age',
      `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts, reason,
                                 last_error, created_at)
       select 'dl_' || n, account_id, id, 'evt_1', 'email.sent', now(), '{}', 8, 'rejected', 'x', ${aged}
       from generate_series(1, $1) n, (select account_id, id from webhooks limit 1) w`,
      lettersOf,
    ],
    [
      'provider_notifications_by_age',
      `insert into provider_notifications select n, ${aged} from generate_series(1, $1) n`,
      dropExpired,
    ],
  ];

  test.each(CASES)(
    'a step goes over its own rows only, not over those that are gone (%s)',
    async (index, fill, drop) => {
      const { pool } = store.db;
      await store.outside.query('truncate attempts, dead_letters, provider_notifications');
      await store.outside.query(fill, [ROWS]);
      const seen: ExplainedStatement[] = [];
      await inUndoneTransaction(pool, async (report) => {
        await report.query('set transaction isolation level repeatable read');
        await report.query('select from accounts');
        expect(await drop(explainedPool(pool, seen))).toBeGreaterThan(ROWS - 2);
      });
      // The statement with an offset looks for the surplus, before the steps.
      const pages = seen.flatMap(({ text, pagesBy }) =>
        text.includes('offset') ? [] : (pagesBy[index] ?? []),
      );
      expect(pages.length).toBeGreaterThan(ROWS / 1_000 - 1);
      expect(Math.max(...pages)).toBeLessThan(2 * (pages[0] ?? 0));
    },
  );
});
