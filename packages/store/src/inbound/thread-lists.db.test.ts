import { beforeAll, describe, expect, test } from '@jest/globals';
import type { InboxId, ThreadId } from '@postrider/domain';
import { createRows, runs, systemClock } from '@postrider/testing';
import { setupPlanStore } from '../../test/plan-store.ts';
import { rowsRead } from '../../test/rows-read.ts';
import type { PageRequest } from '../db/page.ts';
import { createThreadStore } from './threads.ts';

/* Lists of an inbox's threads, planned while there were none (decision 0012). */

const THREADS = runs({ usual: 10_000, long: 20_000 });
const LIMIT = 20;
/** A list looks for so many unread threads, each by one look. */
const LOOKED_FOR = 1_000;
/** Each look reads an index entry and its row. Each thread of a page has a few rows. */
const READ_MAX = 1_000;

/** Its three oldest threads are unread. */
const FEW = 'ibx_few' as InboxId;
/** Every second thread is unread. */
const HALF = 'ibx_half' as InboxId;

const plans = setupPlanStore();

/** The threads of an inbox are numbered from the oldest. */
const threadOf = (inbox: InboxId, n: number) => `${inbox}${String(n).padStart(7, '0')}` as ThreadId;

beforeAll(async () => {
  for (const read of [null, true, false]) await list(FEW, read);
  const rows = createRows(plans.database);
  const accountId = await rows.account();
  for (const [inbox, isRead] of [
    [FEW, 'n > 3'],
    [HALF, 'n % 2 = 1'],
  ] as const) {
    await rows.inbox({ id: inbox, accountId });
    await plans.database.query(
      `with made as (
         insert into inbox_threads
         select $1 || lpad(n::text, 7, '0'), $1, null, now(), now() + make_interval(secs => n / 2)
         from generate_series(1, $3::int) n
       )
       insert into messages (id, account_id, kind, inbox_id, thread_id, status, created_at, content_digest, blob, size, from_address,
         to_addresses, cc_addresses, reply_to_addresses, received_for, headers, spf, dkim, dmarc, automatic, read)
       select 'msg_' || $1 || n, $2, 'live', $1, $1 || lpad(n::text, 7, '0'), 'received', now(), '', 'b', 1, 'a@a.example',
              '{}', '{}', '{}', '{}', '[]', 'none', 'none', 'none', false, ${isRead}
       from generate_series(1, $3::int) n`,
      [inbox, accountId, THREADS],
    );
  }
});

async function list(inbox: InboxId, read: boolean | null, cursor: PageRequest<'thread'>['cursor'] = null) {
  const threads = createThreadStore(plans.db, systemClock);
  const page = await threads.list(inbox, read, { limit: LIMIT, cursor });
  return page?.entries.map(({ id }) => id);
}

/** The rows that it reads. */
async function costOf(read: () => Promise<unknown>): Promise<number> {
  const before = await rowsRead(plans.db.pool);
  await read();
  return (await rowsRead(plans.db.pool)) - before;
}

/** Threads of `HALF`, from number `from` down in steps of two. */
const everySecond = (from: number) =>
  Array.from({ length: LIMIT }, (_, index) => threadOf(HALF, from - 2 * index));

describe.each([
  ['before Postgres has counted the rows', false],
  ['once Postgres has counted the rows', true],
])('%s', (_, isCounted) => {
  beforeAll(async () => {
    if (isCounted) await plans.database.query('analyze');
  });

  test('a list of few unread threads reads only these', async () => {
    const [third, second, first] = [3, 2, 1].map((n) => threadOf(FEW, n)) as [ThreadId, ThreadId, ThreadId];
    const cost = await costOf(async () => {
      expect(await list(FEW, false)).toEqual([third, second, first]);
      expect(await list(FEW, false, { side: 'after', id: third })).toEqual([second, first]);
      expect(await list(FEW, false, { side: 'before', id: second })).toEqual([third]);
    });
    expect(cost).toBeLessThan(READ_MAX);
  });

  test('a page of many unread threads looks for at most 1,000', async () => {
    for (const [cursor, newest] of [
      [null, THREADS],
      [{ side: 'after', id: threadOf(HALF, 3_000) }, 2_998],
      [{ side: 'before', id: threadOf(HALF, 3_000) }, 3_000 + 2 * LIMIT],
    ] as const) {
      const cost = await costOf(async () =>
        expect(await list(HALF, false, cursor)).toEqual(everySecond(newest)),
      );
      expect(cost).toBeLessThan(2 * LOOKED_FOR + READ_MAX);
    }
  });

  test('a page of read threads, or of all, reads little more than it shows', async () => {
    const cost = await costOf(async () => {
      expect(await list(HALF, true)).toEqual(everySecond(THREADS - 1));
      expect(await list(HALF, null)).toContain(threadOf(HALF, THREADS - 1));
    });
    expect(cost).toBeLessThan(READ_MAX);
  });
});
