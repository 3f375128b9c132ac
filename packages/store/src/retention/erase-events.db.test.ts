import { beforeEach, expect, test } from '@jest/globals';
import type { AccountId, EventId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import { hookedPool } from '../../test/hooked-pool.ts';
import { setupPlanStore } from '../../test/plan-store.ts';
import { rowsRead } from '../../test/rows-read.ts';
import { replayDeadLetter } from '../deliveries/sql/replay-dead-letters.ts';
import { eraseEvents } from './erase-events.ts';

const OTHERS = 20_000;
const READ_MAX = 1_000;
const BOB = 'bob@b.example';

const plans = setupPlanStore();
let accountId: AccountId;

beforeEach(async () => {
  const rows = createRows(plans.database);
  await rows.clear();
  accountId = await rows.account();
});

interface NewEvents {
  readonly of?: string;
  readonly count?: number;
  readonly type?: string;
  readonly to?: string;
  readonly position?: null;
}

/** Records events that are 30 s apart. The last one is an hour old. */
async function record({ of = accountId, count = 1, type = 'email.sent', to = BOB, position }: NewEvents) {
  const isInNoList = position === null;
  await plans.database.query(
    `insert into events (id, account_id, type, created_at, data${isInNoList ? ', position' : ''})
     select 'evt_' || gen_random_uuid(), $1, $2, now() - interval '1 hour' - make_interval(secs => 30 * ($3 - n)),
            json_build_object('to', $4::text)${isInNoList ? ', null' : ''}
     from generate_series(1, $3) n`,
    [of, type, count, to],
  );
}

/** @param resumeFrom an SQL expression. @returns how many rows the erasure of Bob read, and its outcome. */
async function eraseBob(resumeFrom = `'-infinity'`, pool = plans.db.pool) {
  const [from] = await plans.database.query<{ at: string }>(`select (${resumeFrom})::text as at`);
  const before = await rowsRead(plans.db.pool);
  const outcome = await eraseEvents(pool, {
    accountId,
    address: BOB,
    requestedAt: new Date().toISOString(),
    resumeFrom: from?.at ?? '',
  });
  return { ...outcome, read: (await rowsRead(plans.db.pool)) - before };
}

test('an erasure reads the events of its account, not those of others', async () => {
  await record({ of: 'acct_other', count: OTHERS });
  await record({ of: 'acct_other', count: OTHERS, position: null });
  await record({ count: 2 });
  await record({ type: 'email.delivered' });
  await record({ type: 'a.type.that.is.gone' });
  await record({ position: null });
  const { erased, read } = await eraseBob();
  expect(erased).toBe(5);
  expect(read).toBeLessThan(READ_MAX);
});

test('an erasure of an account without events reads none', async () => {
  await record({ of: 'acct_other', count: OTHERS });
  expect(await eraseBob()).toMatchObject({ erased: 0, read: 0 });
});

test('an erasure reads each event of its account once', async () => {
  for (const type of ['email.sent', 'email.delivered']) {
    await record({ count: 2_500, type, to: 'eve@e.example' });
    await record({ type });
  }
  await record({ count: 2_500, position: null, to: 'eve@e.example' });
  await record({ position: null });
  const { erased, read } = await eraseBob();
  expect(erased).toBe(3);
  expect(read).toBeLessThan(2 * 1.1 * 7_503); // the row, and its entry in an index
});

test('a later pass begins with the events of a day before its time', async () => {
  await record({ count: OTHERS, to: 'eve@e.example' });
  await record({ count: 3 });
  const { erased, read } = await eraseBob(`now() - interval '2 hours'`);
  expect(erased).toBe(3);
  expect(read).toBeGreaterThan(2 * 25 * 120); // the events of 25 hours, each with its entry in an index
  expect(read).toBeLessThan(2 * 26 * 120 + 2 * 2 * READ_MAX);
});

test('an erasure misses no event that retention deletes and a replay writes back meanwhile', async () => {
  await record({});
  const [event] = (await plans.database.query('select id from events')) as [{ id: EventId }];
  const rows = createRows(plans.database);
  const letter = await rows.deadLetter(await rows.webhook({ accountId }), event.id);
  const pool = hookedPool(
    plans.db.pool,
    [/and type = \$6/, () => plans.database.query('delete from events')],
    [/position is null/, () => plans.database.query(replayDeadLetter.text, [accountId, letter])],
  );
  expect(await eraseBob(undefined, pool)).toMatchObject({ pending: 1, pendingIds: [event.id] });
});
