import { pause, settlesWithin } from '@postrider/limits';
import { createPostgresBackend, withBackend, Worker } from 'bullmq';
import type { z } from 'zod';
import { batchSchema } from './batches.ts';
import { connectQueuePool, connectRedis } from './connection.ts';
import type { QueueLocation } from './connection.ts';
import { JobFetcher } from './job-fetcher.ts';
import type { JobSource } from './job-fetcher.ts';
import { QUEUES } from './jobs.ts';
import type { JobOf, QueueKey } from './jobs.ts';

export interface ConsumerOptions<Job> {
  /** Jobs handled at once. All jobs of a batch start together, and may exceed this. */
  readonly concurrency: number;
  /**
   * How long a fetched job is locked, in seconds. Then another worker gets it. Until then the queue drops the
   * same job when it is added again. Not longer than the row's lease.
   */
  readonly lockSeconds: number;
  /** Handles one job; the slot is free when it resolves. A failed delivery does not reject. */
  readonly handle: (job: Job) => Promise<void>;
  /** Asked before each fetch. Default: the consumer may always fetch. */
  readonly mayFetch?: () => boolean;
  /** Receives errors of the queue itself. The consumer continues and reconnects. */
  readonly onError: (error: Error) => void;
}

/** The part of BullMQ's worker that we use. Both back-ends have it. */
interface BullWorker extends JobSource {
  waitUntilReady(): Promise<unknown>;
  startStalledCheckTimer(): Promise<void>;
  pause(doNotWaitActive: boolean): Promise<void>;
  getBackend(): { disconnectBlocking(wait: boolean): Promise<void> };
  close(force: boolean): Promise<void>;
}

interface Connected {
  readonly worker: BullWorker;
  readonly disconnect: () => Promise<void>;
}

/** A job may stall any number of times: the row in Postgres decides whether it is still valid. */
const STALLS_MAX = 1_000;
/** Checks for expired locks per lock duration. */
const STALLED_CHECKS_PER_LOCK = 3;

/** Connections to Postgres: one for LISTEN, the others fetch and complete jobs. */
const POOL_SIZE = 4;
/** Limit for each of three steps of a stop: complete the last jobs, close the worker, disconnect. */
const CLOSE_TIMEOUT_MS = 500;
/** Pause between two tries to start. */
const START_RETRY_MS = 1_000;

/**
 * The worker fetches jobs from a queue by this class. One job is one attempt at most. Postgres records its
 * outcome. BullMQ neither retries nor counts: a failed job is completed like any other.
 */
export class Consumer<K extends QueueKey = QueueKey> {
  readonly #onError: (error: Error) => void;
  readonly #stopped = new AbortController();
  readonly #fetcher: JobFetcher;
  readonly #connect: () => Connected;
  #connected: Connected | null = null;
  #ended: Promise<void> = Promise.resolve();

  constructor(location: QueueLocation, key: K, options: ConsumerOptions<JobOf<K>>) {
    const { name, payload } = QUEUES[key];
    const batch = batchSchema(payload as unknown as z.ZodType<JobOf<K>>);
    this.#onError = options.onError;
    this.#connect = () => connect(location, name, options);
    this.#fetcher = new JobFetcher({
      jobsMax: options.concurrency,
      start(data) {
        const parsed = batch.safeParse(data);
        // A job has no data when Redis lost its hash. Its rows come back when their leases expire.
        return parsed.success ? parsed.data.map((job) => options.handle(job)) : [];
      },
      mayFetch: options.mayFetch ?? (() => true),
      stopped: this.#stopped.signal,
      onError: options.onError,
    });
  }

  start(): void {
    this.#ended = this.#run();
  }

  /**
   * Fetches no more jobs, and waits for the handlers until the deadline. If they end before it, the close may
   * take up to 1.5 s more, while the queue hangs.
   */
  async stop(timeoutMs: number): Promise<void> {
    this.#stopped.abort();
    const connected = this.#connected;
    if (connected === null) return;
    this.#connected = null;
    // No fetch starts, and a waiting one is interrupted. Running jobs continue.
    connected.worker.pause(true).catch(this.#onError);
    connected.worker.getBackend().disconnectBlocking(false).catch(this.#onError);
    if (!(await settlesWithin(timeoutMs, this.#fetcher.untilHandled()))) return void close(connected);
    // The last jobs are completed, if the queue is reachable.
    await settlesWithin(CLOSE_TIMEOUT_MS, Promise.all([this.#fetcher.untilCompleted(), this.#ended]));
    await close(connected);
  }

  /**
   * BullMQ's worker never recovers from a failed first connection. So we create a new worker until one
   * connects.
   */
  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    const isStopped = () => signal.aborted;
    while (!isStopped()) {
      const connected = this.#connect();
      this.#connected = connected;
      try {
        await connected.worker.waitUntilReady();
        await connected.worker.startStalledCheckTimer();
        await this.#fetcher.run(connected.worker); // returns when stopped
        return;
      } catch (error) {
        if (isStopped()) return;
        this.#onError(error as Error);
        await close(connected);
        await pause(START_RETRY_MS, signal);
      }
    }
  }
}

function connect(
  location: QueueLocation,
  name: string,
  { lockSeconds, onError }: Pick<ConsumerOptions<never>, 'lockSeconds' | 'onError'>,
): Connected {
  const lockDuration = lockSeconds * 1000;
  const options = {
    lockDuration,
    stalledInterval: Math.ceil(lockDuration / STALLED_CHECKS_PER_LOCK),
    maxStalledCount: STALLS_MAX,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  };
  if (location.kind === 'redis') {
    const connection = connectRedis(location.redisUrl, 'consumer', onError);
    const worker = new Worker(name, null, { ...options, connection, prefix: `{${location.prefix}}` });
    worker.on('error', onError);
    return { worker, disconnect: async () => connection.disconnect() };
  }
  const pool = connectQueuePool(location.databaseUrl, POOL_SIZE, onError);
  const { Worker: PostgresWorker } = withBackend(createPostgresBackend);
  const worker = new PostgresWorker(name, null, { ...options, connection: pool });
  worker.on('error', onError);
  return { worker, disconnect: () => pool.end() };
}

/** Closes by force: a graceful close never ends while Redis is unavailable. It does not wait for handlers. */
async function close({ worker, disconnect }: Connected): Promise<void> {
  await settlesWithin(CLOSE_TIMEOUT_MS, worker.close(true));
  await settlesWithin(CLOSE_TIMEOUT_MS, disconnect());
}
