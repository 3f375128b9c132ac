import { beforeAll, describe, expect, test } from '@jest/globals';
import { createRows } from '@postrider/testing';
import type { Pool } from 'pg';
import { explainedPool } from '../../test/explained-pool.ts';
import type { ExplainedStatement } from '../../test/explained-pool.ts';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { dropExpired, dropOldAudit, dropStrayAttempts } from '../retention/housekeeping.ts';
import { dropOldDeadLetters, dropSurplusDeadLetters } from '../retention/old-dead-letters.ts';
import { dropOldEvents } from '../retention/old-events.ts';
import { dropMailContents, dropOldMail } from '../retention/old-mail.ts';

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
const CHORES: [string, number, (pool: Pool) => Promise<number>][] = [
  ['old events', 2, (pool) => dropOldEvents(pool, 30)],
  ['mail contents', 2, (pool) => dropMailContents(pool, 30)],
  ['old mail', 2, (pool) => dropOldMail(pool, 365)],
  ['surplus dead letters', 1, lettersOf],
  ['old dead letters', 1, (pool) => dropOldDeadLetters(pool, 90)],
  ['expired records', 1, dropExpired],
  ['old audit', 2, (pool) => dropOldAudit(pool, 365)],
];

test.each(CHORES)(
  '%s: a row that another relay has ended meanwhile does not count again',
  async (_, rows, drop) => {
    const { pool } = store.db;
    let byOther = 0;
    const interrupted = poolInterruptedOnce(pool, async () => void (byOther = await drop(pool)));
    expect(await drop(interrupted)).toBe(0);
    expect(byOther).toBe(rows);
  },
);

/** The same pool, but `meanwhile` runs before the first list of rows to end comes back. */
function poolInterruptedOnce(pool: Pool, meanwhile: () => Promise<void>): Pool {
  let isInterrupted = false;
  async function interruptOnce(text: unknown): Promise<void> {
    if (isInterrupted || !/^\s*(with page|select)/.test(String(text))) return;
    isInterrupted = true;
    await meanwhile();
  }
  return {
    async connect() {
      const client = await pool.connect();
      return {
        async query(text: string, values?: unknown[]) {
          const endsRows = text.includes('delete from');
          if (endsRows) await interruptOnce(text);
          const result = await client.query(text, values);
          if (!endsRows) await interruptOnce(text);
          return result;
        },
        release: (error?: Error) => client.release(error),
      };
    },
  } as unknown as Pool;
}

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
      // The last of ten steps would read ten times the pages if it began at the first row again.
      expect(Math.max(...pages)).toBeLessThan(5 * (pages[0] ?? 0));
    },
  );
});
