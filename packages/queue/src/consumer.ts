import { createPostgresBackend, withBackend, Worker } from 'bullmq';
import type { Job, WorkerOptions } from 'bullmq';
import { connectQueuePool, connectRedis } from './connection.ts';
import type { QueueLocation } from './connection.ts';
import { QUEUES } from './jobs.ts';
import type { JobOf, QueueKey } from './jobs.ts';
import type { Consumer, ConsumerOptions } from './timetable.ts';

/** The part of BullMQ's worker that is used; the same on both back-ends. */
interface BullWorker {
  run(): Promise<void>;
  pause(doNotWaitActive: boolean): Promise<void>;
  close(force: boolean): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

type Processor = (job: Job) => Promise<void>;

interface Connected {
  readonly worker: BullWorker;
  disconnect(): Promise<void>;
}

/**
 * One job is one attempt, and Postgres says what comes of it: BullMQ neither retries nor counts. A worker that dies
 * loses its lock within 30 s; a job may stall any number of times, because the row decides whether it still counts.
 */
const WORKER_OPTIONS = {
  autorun: false,
  lockDuration: 30_000,
  stalledInterval: 10_000,
  maxStalledCount: 1_000,
  removeOnComplete: { count: 0 },
  removeOnFail: { count: 0 },
} as const;

/** The LISTEN connection of the consumer, and those that fetch and end jobs. */
const POOL_SIZE = 4;
/** Telling the queue that the last jobs have ended. */
const CLOSE_TIMEOUT_MS = 2_000;

export function createConsumer<K extends QueueKey>(
  location: QueueLocation,
  key: K,
  options: ConsumerOptions<JobOf<K>>,
): Consumer {
  const { name, payload } = QUEUES[key];
  const running = new Set<Promise<void>>();
  let connected: Connected | null = null;

  const process: Processor = async (job) => {
    const parsed = payload.safeParse(job.data);
    // A job whose hash was lost comes without its data; its row in Postgres finds another way.
    if (!parsed.success) return;
    const work = options.handle(parsed.data as JobOf<K>);
    running.add(work);
    try {
      await work;
    } finally {
      running.delete(work);
    }
  };

  return {
    start() {
      connected =
        location.kind === 'redis'
          ? redisWorker(location, name, process, options)
          : postgresWorker(location, name, process, options);
      connected.worker.on('error', options.onError);
      connected.worker.run().catch(options.onError);
    },
    async stop(deadlineMs) {
      if (connected === null) return;
      const stopping = connected;
      connected = null;
      const { worker } = stopping;
      await worker.pause(true);
      const inTime = await within(deadlineMs, Promise.allSettled(running));
      if (inTime) await within(CLOSE_TIMEOUT_MS, worker.close(false));
      else await within(CLOSE_TIMEOUT_MS, worker.close(true));
      await stopping.disconnect();
    },
  };
}

function redisWorker(
  location: QueueLocation & { kind: 'redis' },
  name: string,
  process: Processor,
  options: Pick<WorkerOptions, 'concurrency'> & { onError: (error: Error) => void },
): Connected {
  const connection = connectRedis(location.redisUrl, 'consumer', options.onError);
  const worker = new Worker(name, process, {
    ...WORKER_OPTIONS,
    connection,
    prefix: `{${location.prefix}}`,
    concurrency: options.concurrency ?? 1,
  });
  return { worker, disconnect: async () => connection.disconnect() };
}

function postgresWorker(
  location: QueueLocation & { kind: 'postgres' },
  name: string,
  process: Processor,
  options: Pick<WorkerOptions, 'concurrency'> & { onError: (error: Error) => void },
): Connected {
  const pool = connectQueuePool(location.databaseUrl, POOL_SIZE, options.onError);
  const { Worker: PostgresWorker } = withBackend(createPostgresBackend);
  const worker = new PostgresWorker(name, process, {
    ...WORKER_OPTIONS,
    connection: pool,
    concurrency: options.concurrency ?? 1,
  });
  return { worker, disconnect: () => pool.end() };
}

/** Whether `work` settled within the time; its own failure is nobody's to handle any more. */
async function within(timeoutMs: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  const settled = work.then(
    () => true,
    () => true,
  );
  const inTime = await Promise.race([settled, timeout]);
  clearTimeout(timer);
  return inTime;
}
