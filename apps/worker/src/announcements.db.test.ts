import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createFleet, createPool } from '@postrider/store';
import { createTestDatabase, waitFor } from '@postrider/testing';
import type { TestDatabase } from '@postrider/testing';
import { keepLog } from '../test/kept-log.ts';
import { createAnnouncements } from './announcements.ts';

let db: TestDatabase;
let pool: ReturnType<typeof createPool>;

const QUEUE = { kind: 'redis', prefix: 'postrider', id: 'q1' } as const;
const queue = () => QUEUE;
const log = keepLog();

function openPool(databaseUrl: string) {
  return createPool({
    databaseUrl,
    applicationName: 'test',
    size: 1,
    durableCommits: false,
    onError: () => undefined,
  });
}

beforeAll(async () => {
  db = await createTestDatabase();
  pool = openPool(db.url);
});
beforeEach(() => db.query('truncate workers'));
afterAll(async () => {
  await pool.end();
  await db.drop();
});

test('a worker announces itself until it stops', async () => {
  const announcements = createAnnouncements({
    fleet: createFleet(pool),
    workerNumber: 7,
    slots: 768,
    queue,
    logger: log.logger,
  });
  await announcements.start();
  try {
    const first = await waitFor(() => heardAt(), { what: 'the worker to announce itself' });
    await waitFor(async () => (await heardAt()) !== first, { what: 'the worker to announce itself again' });
    expect(await createFleet(pool).workers()).toEqual([{ slots: 768, queue: QUEUE }]);
    expect(log.lines('worker announces itself')).toEqual([
      expect.objectContaining({ worker: 7, slots: 768 }),
    ]);
  } finally {
    await announcements.stop();
  }
  expect(await db.query('select from workers')).toEqual([]);
});

test('it stops while Postgres is unavailable', async () => {
  const away = openPool('postgres://127.0.0.1:1/none');
  const announcements = createAnnouncements({
    fleet: createFleet(away),
    workerNumber: 7,
    slots: 1,
    queue,
    logger: log.logger,
  });
  await announcements.start();
  await announcements.stop();
  await away.end();
});

describe('it counts as announced', () => {
  /** Answers the first announcement, and every further one by `later`. */
  function startAfterOne(later: () => Promise<void>) {
    let asked = 0;
    const announcements = createAnnouncements({
      fleet: {
        async announce() {
          asked += 1;
          if (asked > 1) await later();
        },
        leave: async () => undefined,
      },
      workerNumber: 8,
      slots: 1,
      queue,
      logger: log.logger,
    });
    return { announcements, asked: () => asked };
  }

  test('until Postgres refuses one, and again when it takes one', async () => {
    let isAway = true;
    const { announcements, asked } = startAfterOne(async () => {
      if (isAway) throw new Error('away');
    });
    expect(announcements.isAnnounced()).toBe(false);
    await announcements.start();
    await waitFor(() => announcements.isAnnounced(), { what: 'the first announcement' });
    await waitFor(() => asked() > 1, { what: 'the second one' });
    expect(announcements.isAnnounced()).toBe(false);
    expect(log.lines('worker not announced: it fetches no jobs').map(({ level }) => level)[0]).toBe('warn');
    isAway = false;
    await waitFor(() => announcements.isAnnounced(), { what: 'an announcement after the outage' });
    expect(log.lines('worker announced again')).toHaveLength(1);
    await announcements.stop();
  });

  test('for some seconds while Postgres does not answer', async () => {
    const { promise: never } = Promise.withResolvers<void>();
    const { announcements } = startAfterOne(() => never);
    await announcements.start();
    await waitFor(() => announcements.isAnnounced(), { what: 'the first announcement' });
    await waitFor(() => !announcements.isAnnounced(), { what: 'its end' });
    await announcements.stop();
  });
});

describe('an announcement that takes long', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  /** The first announcement is answered when the test calls `answer`; a further one never is. */
  function startUnanswered() {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    const { promise: never } = Promise.withResolvers<void>();
    const calls: string[] = [];
    const announcements = createAnnouncements({
      fleet: {
        async announce() {
          await (calls.length === 0 ? answered : never);
          calls.push('announced');
        },
        leave: async () => void calls.push('left'),
      },
      workerNumber: 9,
      slots: 1,
      queue,
      logger: log.logger,
    });
    void announcements.start();
    return { announcements, answer, calls };
  }

  test('counts from its start', async () => {
    const { announcements, answer, calls } = startUnanswered();
    await jest.advanceTimersByTimeAsync(4_000);
    answer();
    await jest.advanceTimersByTimeAsync(0);
    expect(calls).toEqual(['announced']);
    expect(announcements.isAnnounced()).toBe(false);
    const stopped = announcements.stop();
    await jest.advanceTimersByTimeAsync(1_000);
    await stopped;
  });

  test('ends before the worker leaves, so that it does not bring the worker back', async () => {
    const { announcements, answer, calls } = startUnanswered();
    const stopped = announcements.stop();
    await jest.advanceTimersByTimeAsync(500);
    answer();
    await stopped;
    expect(calls).toEqual(['announced', 'left']);
  });
});

async function heardAt(): Promise<string | undefined> {
  const [row] = await db.query<{ at: string }>('select heard_at::text as at from workers');
  return row?.at;
}
