import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createTestDatabase } from '@postrider/testing';
import type { TestDatabase } from '@postrider/testing';
import { createPool } from '../db/pool.ts';
import { createFleet } from './fleet.ts';

let db: TestDatabase;
let pool: ReturnType<typeof createPool>;

beforeAll(async () => {
  db = await createTestDatabase();
  pool = createPool({
    databaseUrl: db.url,
    applicationName: 'test',
    size: 2,
    durableCommits: false,
    onError: () => undefined,
  });
});
beforeEach(() => db.query('truncate workers'));
afterAll(async () => {
  await pool.end();
  await db.drop();
});

const QUEUE = { kind: 'redis', prefix: 'postrider', id: 'q1' } as const;

async function slotsOf(fleet: ReturnType<typeof createFleet>): Promise<number[]> {
  return (await fleet.workers()).map(({ slots }) => slots).sort();
}

/** As if it had been heard of that long ago. */
async function silentFor(workerId: string, seconds: number): Promise<void> {
  await db.query('update workers set heard_at = now() - make_interval(secs => $2) where id = $1', [
    workerId,
    seconds,
  ]);
}

test('the fleet has the slots of all workers that run, each counted once', async () => {
  const fleet = createFleet(pool);
  expect(await fleet.workers()).toEqual([]);
  await fleet.announce('a', 768, QUEUE);
  await fleet.announce('b', 100, QUEUE);
  await fleet.announce('a', 700, QUEUE);
  expect(await slotsOf(fleet)).toEqual([100, 700]);
});

test('a worker that leaves counts no more, nor does one that is silent for 3 seconds', async () => {
  const fleet = createFleet(pool);
  for (const id of ['a', 'b', 'c']) await fleet.announce(id, 10, QUEUE);
  await fleet.leave('a');
  await silentFor('b', 3);
  expect(await slotsOf(fleet)).toEqual([10]);
});

test('a worker that was killed is forgotten after a minute, one that was only silent counts again', async () => {
  const fleet = createFleet(pool);
  for (const id of ['killed', 'frozen']) await fleet.announce(id, 10, QUEUE);
  await silentFor('killed', 61);
  await silentFor('frozen', 59);
  await fleet.announce('other', 10, QUEUE);
  expect(await db.query('select id from workers order by id')).toEqual([{ id: 'frozen' }, { id: 'other' }]);
  await fleet.announce('frozen', 10, QUEUE);
  expect(await slotsOf(fleet)).toEqual([10, 10]);
});

test('a worker announces its queue, also one that it cannot read; one of an older release announces none', async () => {
  const fleet = createFleet(pool);
  await fleet.announce('a', 10, QUEUE);
  await fleet.announce('a', 10, { ...QUEUE, id: null });
  await db.query(`insert into workers (id, slots) values ('old', 20)`);
  expect((await fleet.workers()).sort((one, other) => one.slots - other.slots)).toEqual([
    { slots: 10, queue: { ...QUEUE, id: null } },
    { slots: 20, queue: null },
  ]);
});
