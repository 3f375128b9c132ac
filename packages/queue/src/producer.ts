import { randomUUID } from 'node:crypto';
import { settlesWithin } from '@postrider/limits';
import { createPostgresBackend, Queue, withBackend } from 'bullmq';
import type { JobsOptions } from 'bullmq';
import { batchData, batchId, inBatches, jobsIn } from './batches.ts';
import type { Batch } from './batches.ts';
import { connectQueuePool, connectRedis } from './connection.ts';
import type { QueueLocation } from './connection.ts';
import { readEvictionPolicy } from './eviction-policy.ts';
import { deliveryJobId, mailJobId, QUEUES } from './jobs.ts';
import type { DeliveryJob, JobToAdd, Lane, MailJob, QueueKey } from './jobs.ts';

/** Counts jobs, not batches. */
export interface QueueDepth {
  /** Jobs that can run now. */
  readonly waiting: number;
  /** Jobs with a delay left. */
  readonly delayed: number;
}

/** Redis or the queue's Postgres did not accept the call. */
export class QueueUnavailableError extends Error {
  override readonly name = 'QueueUnavailableError';

  constructor(cause: unknown) {
    super(`the queue is not available: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

interface BullJob {
  readonly name: string;
  readonly data: unknown;
  readonly opts: JobsOptions;
}

interface AddedBullJob {
  readonly id?: string | undefined;
}

/** The part of BullMQ's queue that we use. Both back-ends have it. */
interface BullQueue {
  waitUntilReady(): Promise<unknown>;
  add(name: string, data: unknown, opts: JobsOptions): Promise<AddedBullJob>;
  addBulk(jobs: BullJob[]): Promise<AddedBullJob[]>;
  getJobCounts(...types: 'delayed'[]): Promise<Record<string, number>>;
  /** Returns ids of BullMQ jobs. */
  getRanges(types: ('waiting' | 'prioritized')[], start: number, end: number): Promise<string[]>;
  close(): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

type Queues = Readonly<Record<QueueKey, BullQueue>>;

interface Backend {
  /** The fault while there is no connection: a call could only wait for one. Null: connected. */
  disconnected(): Error | null;
  open(): Queues;
  evictionPolicy(): Promise<string | null>;
  disconnect(): Promise<void>;
}

/** We do not read the event stream. BullMQ's default of 10,000 entries would waste memory. */
const STREAMS = { events: { maxLen: 100 } };
/** Connections to Postgres. A relay's passes make few calls, and can wait for each other. */
const POOL_SIZE = 3;
/** Closing does not wait longer for an unreachable back-end. */
const CLOSE_TIMEOUT_MS = 2_000;

/**
 * The relay's side of the queue, and the only way to add jobs. The queue may lose a job at any moment:
 * Postgres knows which jobs there must be.
 */
export class Producer {
  readonly #onError: (error: Error) => void;
  readonly #backend: Backend;
  #opened: Promise<Queues> | null = null;

  /**
   * @param onError receives connection errors; the producer reconnects by itself.
   * @param onConnect runs after each connection to Redis.
   */
  constructor(
    location: QueueLocation,
    onError: (error: Error) => void,
    onConnect: () => void = () => undefined,
  ) {
    this.#onError = onError;
    this.#backend =
      location.kind === 'redis'
        ? redisBackend(location, onError, onConnect)
        : postgresBackend(location, onError);
  }

  /**
   * A job that is added again in the same batch is added once. In another batch, or after its lease has
   * expired, it is there twice. @throws QueueUnavailableError
   */
  addDeliveries(lane: Lane, jobs: readonly JobToAdd<DeliveryJob>[]): Promise<void> {
    return this.#add(lane, jobs, deliveryJobId);
  }

  addMail(jobs: readonly JobToAdd<MailJob>[]): Promise<void> {
    return this.#add('mail', jobs, mailJobId);
  }

  async depth(): Promise<Record<QueueKey, QueueDepth>> {
    const [fast, slow, mail] = await Promise.all([
      this.depthOf('fast'),
      this.depthOf('slow'),
      this.depthOf('mail'),
    ]);
    return { fast, slow, mail };
  }

  depthOf(key: QueueKey): Promise<QueueDepth> {
    return orUnavailable(async () => readDepth((await this.#queues())[key]));
  }

  /**
   * Redis's `maxmemory-policy`. Null when Redis does not report it, or when the queue is on Postgres. @throws
   * QueueUnavailableError
   */
  evictionPolicy(): Promise<string | null> {
    return orUnavailable(() => this.#backend.evictionPolicy());
  }

  async close(): Promise<void> {
    const closing = this.#opened?.then((queues) =>
      Promise.all(Object.values(queues).map((queue) => queue.close())),
    );
    await settlesWithin(CLOSE_TIMEOUT_MS, closing ?? Promise.resolve());
    await settlesWithin(CLOSE_TIMEOUT_MS, this.#backend.disconnect());
  }

  async #add<Job extends object>(
    key: QueueKey,
    jobs: readonly JobToAdd<Job>[],
    idOf: (job: JobToAdd<Job>) => string,
  ): Promise<void> {
    if (jobs.length === 0) return;
    await orUnavailable(async () => {
      const queues = await this.#queues();
      const idOfJob = (job: JobToAdd<Job>) =>
        job.leaseExpired === true ? `${idOf(job)}_${randomUUID()}` : idOf(job);
      const batches = inBatches(jobs).map((batch) => bullJob(key, batch, batchId(batch.map(idOfJob))));
      const added = await addTo(queues[key], batches);
      // BullMQ's bulk add is a pipeline, not a transaction. A batch that failed has an error code as its id.
      const failed = added.filter(({ id }, index) => id !== batches[index]?.opts.jobId);
      if (failed.length > 0)
        throw new Error(`${failed.length} of ${batches.length} batches of jobs were not added`);
    });
  }

  /**
   * Opens the queues with the first call that has a connection. BullMQ never recovers from a failed first
   * connection, so we discard such queues.
   */
  async #queues(): Promise<Queues> {
    const fault = this.#backend.disconnected();
    if (fault !== null) throw fault;
    this.#opened ??= this.#open();
    return this.#opened;
  }

  async #open(): Promise<Queues> {
    const queues = this.#backend.open();
    const all = Object.values(queues);
    for (const queue of all) queue.on('error', this.#onError);
    try {
      await Promise.all(all.map((queue) => queue.waitUntilReady()));
      return queues;
    } catch (error) {
      this.#opened = null;
      for (const queue of all) queue.close().catch(this.#onError);
      throw error;
    }
  }
}

/**
 * Few batches wait, and the id of each tells how many jobs it carries. A delayed job is a batch of its own.
 * Relays of the last release add batches with a priority.
 */
async function readDepth(queue: BullQueue): Promise<QueueDepth> {
  const [waiting, { delayed = 0 }] = await Promise.all([
    queue.getRanges(['waiting', 'prioritized'], 0, -1),
    queue.getJobCounts('delayed'),
  ]);
  return { waiting: jobsIn(waiting), delayed };
}

/** A single add costs less than a bulk add. Under low load, jobs come one at a time. */
async function addTo(queue: BullQueue, batches: BullJob[]): Promise<AddedBullJob[]> {
  const [batch, ...more] = batches;
  if (batch === undefined || more.length > 0) return queue.addBulk(batches);
  return [await queue.add(batch.name, batch.data, batch.opts)];
}

/** All jobs of a batch have the same delay. */
function bullJob(key: QueueKey, batch: Readonly<Batch<object>>, jobId: string): BullJob {
  const [{ delayMs }] = batch;
  return {
    name: 'job',
    data: batchData(batch.map((job) => QUEUES[key].payload.parse(job))), // only the fields of the catalogue
    // Whole milliseconds: the Postgres back-end refuses fractions. Finished batches are removed: with a kept
    // id, a later batch with the same id would silently be dropped.
    opts: {
      jobId,
      delay: Math.max(0, Math.ceil(delayMs)),
      attempts: 1,
      removeOnComplete: true,
      removeOnFail: true,
    },
  };
}

function eachQueue(make: (name: string) => BullQueue): Queues {
  return { fast: make(QUEUES.fast.name), slow: make(QUEUES.slow.name), mail: make(QUEUES.mail.name) };
}

function redisBackend(
  location: QueueLocation & { kind: 'redis' },
  onError: (error: Error) => void,
  onConnect: () => void,
): Backend {
  const connection = connectRedis(location.redisUrl, 'producer', onError);
  let fault = new Error('not connected');
  connection.on('error', (error: Error) => (fault = error));
  connection.on('ready', onConnect);
  const options = { connection, prefix: `{${location.prefix}}`, streams: STREAMS };
  return {
    disconnected: () => (connection.status === 'ready' ? null : fault),
    open: () => eachQueue((name) => new Queue(name, options)),
    evictionPolicy: () => readEvictionPolicy(connection),
    disconnect: async () => connection.disconnect(),
  };
}

function postgresBackend(
  location: QueueLocation & { kind: 'postgres' },
  onError: (error: Error) => void,
): Backend {
  const pool = connectQueuePool(location.databaseUrl, POOL_SIZE, onError);
  const { Queue: PostgresQueue } = withBackend(createPostgresBackend);
  return {
    disconnected: () => null, // the pool's time-outs limit each call
    open: () => eachQueue((name) => new PostgresQueue(name, { connection: pool, streams: STREAMS })),
    evictionPolicy: async () => null,
    disconnect: () => pool.end(),
  };
}

/** Maps every error of `work` to QueueUnavailableError. */
async function orUnavailable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new QueueUnavailableError(error);
  }
}
