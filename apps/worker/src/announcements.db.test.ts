import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createFleet, createPool } from '@postrider/store';
import { createTestDatabase, startFaultProxy, waitFor } from '@postrider/testing';
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

test('it counts as announced only while Postgres takes its announcements', async () => {
  const proxy = await startFaultProxy(db.url);
  const proxied = openPool(proxy.url(db.url));
  const announcements = createAnnouncements({
    fleet: createFleet(proxied),
    workerNumber: 8,
    slots: 1,
    queue,
    logger: log.logger,
  });
  const untilAnnounced = (is: boolean) =>
    waitFor(() => announcements.isAnnounced() === is, { what: `isAnnounced to be ${is}` });
  expect(announcements.isAnnounced()).toBe(false);
  await announcements.start();
  await untilAnnounced(true);
  proxy.takeAway();
  await untilAnnounced(false);
  proxy.restore();
  await untilAnnounced(true);
  proxy.hold(); // no answer and no error
  await untilAnnounced(false);
  proxy.restore();
  await untilAnnounced(true);
  await announcements.stop();
  await proxied.end();
  await proxy.close();
});

async function heardAt(): Promise<string | undefined> {
  const [row] = await db.query<{ at: string }>('select heard_at::text as at from workers');
  return row?.at;
}
