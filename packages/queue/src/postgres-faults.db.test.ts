import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { startPostgres } from '@postrider/embedded';
import type { RunningPostgres } from '@postrider/embedded';
import { createTestDatabase, HOSTILE_SETTINGS, setup, waitFor } from '@postrider/testing';
import { jobs, openQueue } from '../test/queue-under-test.ts';
import type { QueueUnderTest } from '../test/queue-under-test.ts';
import { migrateQueueSchema, QueueUnavailableError } from './index.ts';
import type { Consumer } from './index.ts';

let queue: QueueUnderTest;
let consumer: Consumer;
let seen: string[];

afterEach(() => queue.close());

/** A queue with one consumer of two slots, whether or not Postgres is up. */
function open(databaseUrl: string, handle: () => Promise<void> = async () => undefined): void {
  seen = [];
  queue = openQueue({ kind: 'postgres', databaseUrl });
  consumer = queue.consume(
    async (job) => {
      seen.push(job.deliveryId);
      await handle();
    },
    { concurrency: 2 },
  );
}

/** Adds a job until the queue accepts it, and waits until the job arrives. */
async function takes(deliveryId: string): Promise<void> {
  const job = { deliveryId, claim: 0, delayMs: 0 };
  await waitFor(
    async () => {
      await queue.producer.addDeliveries('fast', [job]);
      return true;
    },
    { what: 'the queue to take a job' },
  );
  await waitFor(() => seen.includes(deliveryId), { what: `job ${deliveryId} to arrive` });
}

async function refuses(): Promise<void> {
  await expect(queue.producer.addDeliveries('fast', jobs(3))).rejects.toBeInstanceOf(QueueUnavailableError);
  await expect(queue.producer.depth()).rejects.toBeInstanceOf(QueueUnavailableError);
}

describe('broken sessions of the queue', () => {
  const database = setup(createTestDatabase, (opened) => opened.drop());

  async function cutAll(): Promise<void> {
    await database.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    );
  }

  test('are replaced, idle or with a running job: every job arrives', async () => {
    const { promise: opened, resolve: release } = Promise.withResolvers<void>();
    open(database.url, () => (seen.at(-1) === '2' ? opened : Promise.resolve()));
    await takes('1');
    await takes('2'); // stays in flight
    for (const id of ['3', '4', '5', '6']) {
      await cutAll();
      await takes(id);
    }
    release();
    await cutAll();
    await takes('7');
  });
});

describe('a Postgres that', () => {
  let dataDir: string;
  let postgres: RunningPostgres;

  const start = async (port = 0) =>
    startPostgres({ dataDir, durable: false, port, settings: HOSTILE_SETTINGS });

  beforeAll(async () => {
    dataDir = join(mkdtempSync(join(tmpdir(), 'postrider-queue-')), 'data');
    postgres = await start();
    await migrateQueueSchema(postgres.url);
  });
  afterAll(async () => {
    await postgres.stop();
    rmSync(join(dataDir, '..'), { recursive: true, force: true });
  });

  test('is stopped and started: calls fail meanwhile, and both sides recover by themselves', async () => {
    const { promise: opened, resolve: release } = Promise.withResolvers<void>();
    open(postgres.url, () => (seen.at(-1) === '2' ? opened : Promise.resolve()));
    await takes('1');
    await takes('2'); // stays in flight
    await postgres.stop();
    await refuses();
    release();
    postgres = await start(postgres.port);
    for (const id of ['3', '4', '5']) await takes(id);
  });

  test('is not up yet: calls fail, and both sides begin when it starts', async () => {
    await postgres.stop();
    open(postgres.url);
    await refuses();
    await waitFor(() => queue.errors.length > 0, { what: 'the consumer to have tried' });
    const errorsBefore = queue.errors.length;
    await delay(500);
    expect(queue.errors.length - errorsBefore).toBeLessThan(20); // without a pause there are hundreds
    postgres = await start(postgres.port);
    await takes('11');
  });

  // The last test: it leaves Postgres stopped.
  test('is gone does not block closing a queue', async () => {
    const { promise: opened, resolve: release } = Promise.withResolvers<void>();
    open(postgres.url, () => (seen.at(-1) === '22' ? opened : Promise.resolve()));
    await takes('21');
    await takes('22'); // stays in flight
    await postgres.stop();
    const stopped = consumer.stop(20_000);
    release();
    await stopped;
    await queue.producer.close();
  });
});
