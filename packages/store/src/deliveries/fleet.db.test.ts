import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createTestDatabase, waitFor } from '@postrider/testing';
import type { TestDatabase } from '@postrider/testing';
import { createPool } from '../db/pool.ts';
import { dropExpired } from '../retention/housekeeping.ts';
import { createFleet, lockWorkerNumber } from './fleet.ts';

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
async function silentFor(worker: number, seconds: number): Promise<void> {
  await db.query('update workers set heard_at = now() - make_interval(secs => $2) where number = $1', [
    worker,
    seconds,
  ]);
}

test('the fleet has the slots of all workers that run, each counted once', async () => {
  const fleet = createFleet(pool);
  expect(await fleet.workers()).toEqual([]);
  await fleet.announce(1, 768, QUEUE);
  await fleet.announce(2, 100, QUEUE);
  await fleet.announce(1, 700, QUEUE);
  expect(await slotsOf(fleet)).toEqual([100, 700]);
});

test('a worker that leaves counts no more, nor does one that is silent for 3 seconds', async () => {
  const fleet = createFleet(pool);
  for (const worker of [1, 2, 3]) await fleet.announce(worker, 10, QUEUE);
  await fleet.leave(1);
  await silentFor(2, 3);
  expect(await slotsOf(fleet)).toEqual([10]);
});

test('a worker that was killed is forgotten after an hour, one that was only silent counts again', async () => {
  const fleet = createFleet(pool);
  const [killed, frozen] = [1, 2];
  for (const worker of [killed, frozen]) await fleet.announce(worker, 10, QUEUE);
  await silentFor(killed, 3_601);
  await silentFor(frozen, 3_500);
  await dropExpired(pool);
  expect(await db.query('select number from workers')).toEqual([{ number: frozen }]);
  await fleet.announce(frozen, 10, QUEUE);
  expect(await slotsOf(fleet)).toEqual([10]);
});

test('a worker announces its queue, also one that it cannot read', async () => {
  const fleet = createFleet(pool);
  await fleet.announce(1, 10, QUEUE);
  await fleet.announce(1, 10, { ...QUEUE, id: null });
  expect(await fleet.workers()).toEqual([{ slots: 10, queue: { ...QUEUE, id: null } }]);
});

test('a worker of the last minute runs, is silent, or died; one that left is not known', async () => {
  const fleet = createFleet(pool);
  const [ready, frozen, killed, gone, forgotten] = [1, 2, 3, 4, 5];
  for (const worker of [ready, frozen, killed, gone, forgotten])
    await fleet.announce(worker, 10 + worker, QUEUE);
  await fleet.leave(gone);
  await silentFor(frozen, 20);
  await silentFor(killed, 40);
  await silentFor(forgotten, 61);
  await db.query('select pg_advisory_lock_shared(72707372, $1)', [frozen]);
  const known = await fleet.known();
  await db.query('select pg_advisory_unlock_shared(72707372, $1)', [frozen]);
  expect(known.map(({ number, slots, state }) => [number, slots, state])).toEqual([
    [ready, 11, 'running'],
    [killed, 13, 'died'],
    [frozen, 12, 'silent'],
  ]);
  for (const [at, seconds] of [0, 40, 20].entries())
    expect(known[at]?.silentMs).toBeGreaterThanOrEqual(seconds * 1_000);
  expect(known[0]?.queue).toEqual(QUEUE);
});

describe('a worker is dead', () => {
  const WORKER = 7;
  let locks: ReturnType<typeof lockWorkerNumber>[] = [];

  /** Resolves when the worker's session holds its lock. */
  async function locked(worker: number, databaseUrl = db.url): Promise<void> {
    const lock = lockWorkerNumber(worker, {
      databaseUrl,
      applicationName: 'number-lock',
      onError: () => undefined,
    });
    locks.push(lock);
    lock.start();
    await untilHeld(worker, 1);
  }

  async function untilHeld(worker: number, sessions: number): Promise<void> {
    const held = () =>
      db.query(
        `select from pg_locks where locktype = 'advisory' and granted and objid = $1 and objsubid = 2`,
        [worker],
      );
    await waitFor(async () => (await held()).length === sessions, { what: `${sessions} locks on ${worker}` });
  }

  async function dead(): Promise<number[]> {
    return (await createFleet(pool).deadWorkers()).map(({ number }) => number);
  }

  beforeEach(() => createFleet(pool).announce(WORKER, 10, QUEUE));
  afterEach(async () => {
    await Promise.all(locks.map((lock) => lock.stop()));
    locks = [];
  });

  test('when it is silent and nobody holds its lock: the last to die comes last', async () => {
    await createFleet(pool).announce(3, 10, QUEUE);
    await silentFor(3, 20);
    await silentFor(WORKER, 5);
    expect(await dead()).toEqual([3, WORKER]);
    const [row] = await db.query<{ after: number }>(
      `select extract(epoch from $1::timestamptz - heard_at)::float8 as after from workers where number = $2`,
      [(await createFleet(pool).deadWorkers())[1]?.diedBefore, WORKER],
    );
    expect(row).toEqual({ after: 2 });
  });

  test('not while its session lives, however long it is silent', async () => {
    await locked(WORKER);
    await silentFor(WORKER, 600);
    expect(await dead()).toEqual([]);
  });

  test('not while it announces itself every second, though its session was ended', async () => {
    await silentFor(WORKER, 1);
    expect(await dead()).toEqual([]);
  });

  test('as soon as its session has ended, if it is silent', async () => {
    await locked(WORKER);
    await silentFor(WORKER, 5);
    await locks[0]?.stop();
    await untilHeld(WORKER, 0);
    expect(await dead()).toEqual([WORKER]);
  });

  test('never when it signed off', async () => {
    await createFleet(pool).leave(WORKER);
    expect(await dead()).toEqual([]);
  });

  test('not for the lock of another number', async () => {
    await locked(WORKER + 1);
    await silentFor(WORKER, 5);
    expect(await dead()).toEqual([WORKER]);
  });

  test('not for the lock of a worker with its number in another database', async () => {
    const other = await createTestDatabase();
    await locked(WORKER, other.url);
    await silentFor(WORKER, 5);
    expect(await dead()).toEqual([WORKER]);
    await locks[0]?.stop();
    await other.drop();
  });

  test('not when Postgres ends its session: it locks its number again', async () => {
    await locked(WORKER);
    await db.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'number-lock'`,
    );
    await untilHeld(WORKER, 0);
    await untilHeld(WORKER, 1);
    await silentFor(WORKER, 5);
    expect(await dead()).toEqual([]);
  });

  test('not while an older session of it still holds the lock: the new one does not wait for it', async () => {
    await locked(WORKER);
    const again = lockWorkerNumber(WORKER, {
      databaseUrl: db.url,
      applicationName: 'number-lock',
      onError: () => undefined,
    });
    locks.push(again);
    again.start();
    await untilHeld(WORKER, 2);
    await locks[0]?.stop();
    await untilHeld(WORKER, 1);
    await silentFor(WORKER, 5);
    expect(await dead()).toEqual([]);
  });
});
