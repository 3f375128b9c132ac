import { setTimeout as delay } from 'node:timers/promises';
import { createPostgresBackend, WaitingError, withBackend, Worker } from 'bullmq';
import type { Job } from 'bullmq';
import { connectQueuePool, connectRedis } from './connection.ts';
import type { QueueLocation } from './connection.ts';
import { QUEUES } from './jobs.ts';
import type { JobOf, QueueKey } from './jobs.ts';
import { settlesWithin } from './settles-within.ts';
import type { Consumer, ConsumerOptions } from './timetable.ts';

/** The part of BullMQ's worker that is used; the same on both back-ends. */
interface BullWorker {
  waitUntilReady(): Promise<unknown>;
  run(): Promise<void>;
  pause(doNotWaitActive: boolean): Promise<void>;
  getBackend(): { disconnectBlocking(wait: boolean): Promise<void> };
  close(force: boolean): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  /** Called with a job as soon as it is fetched; its processor may be called much later. */
  on(event: 'active', listener: (job: Job) => void): unknown;
}

type Processor = (job: Job, token?: string) => Promise<void>;

interface Connected {
  readonly worker: BullWorker;
  disconnect(): Promise<void>;
}

/**
 * One job is one attempt, and Postgres says what comes of it: BullMQ neither retries nor counts. A job may stall any
 * number of times, because the row decides whether it still counts.
 */
const WORKER_OPTIONS = {
  autorun: false,
  maxStalledCount: 1_000,
  // How long a slot waits after it could not connect; BullMQ's 15 s would outlast most outages.
  runRetryDelay: 1_000,
  removeOnComplete: { count: 0 },
  removeOnFail: { count: 0 },
} as const;

const LOCK_SECONDS = 30;
/** How often in the time of a lock those that ran out are looked for. */
const LOOKS_PER_LOCK = 3;

/** The LISTEN connection of the consumer, and those that fetch and end jobs. */
const POOL_SIZE = 4;
/** Telling the queue that the last jobs have ended, and disconnecting. */
const CLOSE_TIMEOUT_MS = 2_000;
/** Between two tries to come up. */
const START_RETRY_MS = 1_000;

export function createConsumer<K extends QueueKey>(
  location: QueueLocation,
  key: K,
  options: ConsumerOptions<JobOf<K>>,
): Consumer {
  const { name, payload } = QUEUES[key];
  const stopped = new AbortController();
  const isStopped = () => stopped.signal.aborted;
  const inHand = createJobsInHand(payload, options.handle, isStopped);
  let connected: Connected | null = null;
  let ended: Promise<void> = Promise.resolve();

  /** BullMQ's worker remembers a failed first connection for good: it is made anew until one stands. */
  async function run(): Promise<void> {
    while (!isStopped()) {
      connected = connect(location, name, inHand.process, options);
      connected.worker.on('active', inHand.begin);
      try {
        await connected.worker.waitUntilReady();
        await connected.worker.run(); // until it is closed
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
      if (!(await settlesWithin(deadlineMs, inHand.ended()))) return void shut(stopping);
      // The queue hears of the last ends, if it is there.
      await settlesWithin(CLOSE_TIMEOUT_MS, ended);
      await shut(stopping);
    },
  };
}

/** The jobs in hand. */
interface JobsInHand {
  readonly begin: (job: Job) => void;
  readonly process: Processor;
  /** Resolves when nothing is in hand any more. */
  ended(): Promise<void>;
}

function createJobsInHand<K extends QueueKey>(
  payload: (typeof QUEUES)[K]['payload'],
  handle: ConsumerOptions<JobOf<K>>['handle'],
  isStopped: () => boolean,
): JobsInHand {
  const begun = new WeakMap<Job, Promise<void>>();
  const running = new Set<Promise<void>>();
  return {
    // As soon as the job is here: BullMQ calls the processor only when it has found nothing more to fetch, a round trip
    // or many later.
    begin(job) {
      if (isStopped()) return;
      const parsed = payload.safeParse(job.data);
      // A job whose hash was lost comes without its data; its row in Postgres finds another way.
      if (!parsed.success) return;
      const work = handle(parsed.data as JobOf<K>);
      begun.set(job, work);
      running.add(work);
      const ended = () => void running.delete(work);
      work.then(ended, ended); // that it failed is for `process` to say
    },
    async process(job, token) {
      const work = begun.get(job);
      if (work === undefined && isStopped()) {
        // It was being fetched as the stop came: another consumer gets it.
        await job.moveToWait(token);
        throw new WaitingError();
      }
      await work;
    },
    async ended() {
      while (running.size > 0) await Promise.allSettled(running);
    },
  };
}

/** Leaves alone what is in hand, and interrupts the wait for more; waits for nothing itself. */
function fetchNothing(worker: BullWorker, onError: (error: Error) => void): void {
  worker.pause(true).catch(onError);
  worker.getBackend().disconnectBlocking(false).catch(onError);
}

/** By force: a graceful close never ends while Redis is away. Waits for no handler, and not long for the back-end. */
async function shut(connected: Connected): Promise<void> {
  await settlesWithin(CLOSE_TIMEOUT_MS, connected.worker.close(true));
  await settlesWithin(CLOSE_TIMEOUT_MS, connected.disconnect());
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined); // cut short: the same to the caller
}

type ConnectOptions = Pick<ConsumerOptions<never>, 'concurrency' | 'lockSeconds' | 'onError'>;

function connect(
  location: QueueLocation,
  name: string,
  process: Processor,
  options: ConnectOptions,
): Connected {
  const connected =
    location.kind === 'redis'
      ? redisWorker(location, name, process, options)
      : postgresWorker(location, name, process, options);
  connected.worker.on('error', options.onError);
  return connected;
}

function workerOptions({ concurrency, lockSeconds = LOCK_SECONDS }: ConnectOptions) {
  const lockDuration = lockSeconds * 1000;
  const stalledInterval = Math.ceil(lockDuration / LOOKS_PER_LOCK);
  return { ...WORKER_OPTIONS, concurrency, lockDuration, stalledInterval };
}

function redisWorker(
  location: QueueLocation & { kind: 'redis' },
  name: string,
  process: Processor,
  options: ConnectOptions,
): Connected {
  const connection = connectRedis(location.redisUrl, 'consumer', options.onError);
  const worker = new Worker(name, process, {
    ...workerOptions(options),
    connection,
    prefix: `{${location.prefix}}`,
  });
  return { worker, disconnect: async () => connection.disconnect() };
}

function postgresWorker(
  location: QueueLocation & { kind: 'postgres' },
  name: string,
  process: Processor,
  options: ConnectOptions,
): Connected {
  const pool = connectQueuePool(location.databaseUrl, POOL_SIZE, options.onError);
  const { Worker: PostgresWorker } = withBackend(createPostgresBackend);
  const worker = new PostgresWorker(name, process, {
    ...workerOptions(options),
    connection: pool,
  });
  return { worker, disconnect: () => pool.end() };
}
