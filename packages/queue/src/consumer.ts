import { settlesWithin } from '@postrider/limits';
import { createPostgresBackend, withBackend, Worker } from 'bullmq';
import type { z } from 'zod';
import { batchOf } from './batches.ts';
import { connectQueuePool, connectRedis } from './connection.ts';
import type { QueueLocation } from './connection.ts';
import { JobFetcher, pause } from './job-fetcher.ts';
import type { JobSource } from './job-fetcher.ts';
import { QUEUES } from './jobs.ts';
import type { JobOf, QueueKey } from './jobs.ts';
import type { Consumer, ConsumerOptions } from './job-queue.ts';

/** The part of BullMQ's worker that we use. Both back-ends have it. */
interface BullWorker extends JobSource {
  waitUntilReady(): Promise<unknown>;
  startStalledCheckTimer(): Promise<void>;
  pause(doNotWaitActive: boolean): Promise<void>;
  getBackend(): { disconnectBlocking(wait: boolean): Promise<void> };
  close(force: boolean): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

interface Connected {
  readonly worker: BullWorker;
  disconnect(): Promise<void>;
}

/** A job may stall any number of times: the row in Postgres decides whether it is still valid. */
const STALLS_MAX = 1_000;
const LOCK_SECONDS = 30;
/** Checks for expired locks per lock duration. */
const STALLED_CHECKS_PER_LOCK = 3;

/** Connections to Postgres: one for LISTEN, the others fetch and complete jobs. */
const POOL_SIZE = 4;
/** Time to complete the last jobs and to disconnect. */
const CLOSE_TIMEOUT_MS = 2_000;
/** Pause between two tries to start. */
const START_RETRY_MS = 1_000;

/**
 * One job is one attempt, and Postgres records its outcome. BullMQ neither retries nor counts: a failed job
 * is completed like any other.
 */
export function createConsumer<K extends QueueKey>(
  location: QueueLocation,
  key: K,
  options: ConsumerOptions<JobOf<K>>,
): Consumer {
  const { name, payload } = QUEUES[key];
  const batch = batchOf(payload as unknown as z.ZodType<JobOf<K>>);
  const stopped = new AbortController();
  const isStopped = () => stopped.signal.aborted;
  const fetcher = new JobFetcher({
    slots: options.concurrency,
    start(data) {
      const parsed = batch.safeParse(data);
      // A job whose Redis hash was lost has no data. Its rows come back when their leases expire.
      return parsed.success ? parsed.data.map((job) => options.handle(job)) : [];
    },
    stopped: stopped.signal,
    onError: options.onError,
  });
  let connected: Connected | null = null;
  let ended: Promise<void> = Promise.resolve();

  /**
   * BullMQ's worker never recovers from a failed first connection. So we create a new worker until one
   * connects.
   */
  async function run(): Promise<void> {
    while (!isStopped()) {
      connected = connect(location, name, options);
      try {
        await connected.worker.waitUntilReady();
        await connected.worker.startStalledCheckTimer();
        await fetcher.run(connected.worker); // returns when stopped
        return;
      } catch (error) {
        if (isStopped()) return;
        options.onError(error as Error);
        await shut(connected);
        await pause(START_RETRY_MS, stopped.signal);
      }
    }
  }

  return {
    start() {
      ended = run();
    },
    async stop(deadlineMs) {
      stopped.abort();
      if (connected === null) return;
      const stopping = connected;
      connected = null;
      fetchNothing(stopping.worker, options.onError);
      if (!(await settlesWithin(deadlineMs, fetcher.handled()))) return void shut(stopping);
      // The last jobs are completed, if the queue is reachable.
      await settlesWithin(CLOSE_TIMEOUT_MS, Promise.all([fetcher.completed(), ended]));
      await shut(stopping);
    },
  };
}

/** Stops fetching and interrupts a waiting fetch. Running jobs continue. */
function fetchNothing(worker: BullWorker, onError: (error: Error) => void): void {
  worker.pause(true).catch(onError);
  worker.getBackend().disconnectBlocking(false).catch(onError);
}

/** Closes by force: a graceful close never ends while Redis is unavailable. It does not wait for handlers. */
async function shut(connected: Connected): Promise<void> {
  await settlesWithin(CLOSE_TIMEOUT_MS, connected.worker.close(true));
  await settlesWithin(CLOSE_TIMEOUT_MS, connected.disconnect());
}

type ConnectOptions = Pick<ConsumerOptions<never>, 'lockSeconds' | 'onError'>;

function connect(location: QueueLocation, name: string, options: ConnectOptions): Connected {
  const connected =
    location.kind === 'redis'
      ? redisWorker(location, name, options)
      : postgresWorker(location, name, options);
  connected.worker.on('error', options.onError);
  return connected;
}

function workerOptions({ lockSeconds = LOCK_SECONDS }: ConnectOptions) {
  const lockDuration = lockSeconds * 1000;
  const stalledInterval = Math.ceil(lockDuration / STALLED_CHECKS_PER_LOCK);
  const keepNone = { removeOnComplete: { count: 0 }, removeOnFail: { count: 0 } };
  return { ...keepNone, maxStalledCount: STALLS_MAX, lockDuration, stalledInterval };
}

function redisWorker(
  location: QueueLocation & { kind: 'redis' },
  name: string,
  options: ConnectOptions,
): Connected {
  const connection = connectRedis(location.redisUrl, 'consumer', options.onError);
  const prefix = `{${location.prefix}}`;
  const worker = new Worker(name, null, { ...workerOptions(options), connection, prefix });
  return { worker, disconnect: async () => connection.disconnect() };
}

function postgresWorker(
  location: QueueLocation & { kind: 'postgres' },
  name: string,
  options: ConnectOptions,
): Connected {
  const pool = connectQueuePool(location.databaseUrl, POOL_SIZE, options.onError);
  const { Worker: PostgresWorker } = withBackend(createPostgresBackend);
  const worker = new PostgresWorker(name, null, { ...workerOptions(options), connection: pool });
  return { worker, disconnect: () => pool.end() };
}
