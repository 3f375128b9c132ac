import type { DeliveryJob, Lane, MailJob, QueueKey } from './jobs.ts';

/** A job to add. A worker gets it after `delayMs`. */
export type JobToAdd<Job> = Job & {
  readonly delayMs: number;
  /** Jobs without low priority run first. */
  readonly lowPriority?: boolean;
  /** Due jobs of one call with the same group share BullMQ jobs, up to 16 in each. */
  readonly group?: string;
};

/** Depth of one queue. Each job in a batch counts. */
export interface QueueDepth {
  /** Jobs that can run now. */
  readonly waiting: number;
  /** Jobs whose delay has not passed. */
  readonly delayed: number;
}

/**
 * The relay's side of the queue, and the only way to add jobs. The queue may lose a job at any moment: the
 * caller keeps the truth elsewhere.
 */
export interface Producer {
  /** Adding a job again has no effect. @throws QueueUnavailableError */
  addDeliveries(lane: Lane, jobs: readonly JobToAdd<DeliveryJob>[]): Promise<void>;
  addMail(jobs: readonly JobToAdd<MailJob>[]): Promise<void>;
  depth(): Promise<Record<QueueKey, QueueDepth>>;
  /**
   * Redis's `maxmemory-policy`. Null when Redis does not report it, or when the queue is on Postgres. @throws
   * QueueUnavailableError
   */
  evictionPolicy(): Promise<string | null>;
  close(): Promise<void>;
}

/** Redis or the queue's Postgres did not accept the call. */
export class QueueUnavailableError extends Error {
  override readonly name = 'QueueUnavailableError';

  constructor(cause: unknown) {
    super(`the queue is not available: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

export interface ConsumerOptions<Job> {
  /** Jobs handled at once. All jobs of a batch start together, and may exceed this. */
  readonly concurrency: number;
  /**
   * Lock on a fetched job, in seconds (default 30). After it another worker gets the job. Until then adding
   * the job again has no effect. So the lock should be no longer than the lease on its row.
   */
  readonly lockSeconds?: number;
  /** Handles one job; the slot is free when it resolves. A failed delivery does not reject. */
  readonly handle: (job: Job) => Promise<void>;
  /** Receives errors of the queue itself. The consumer continues and reconnects. */
  readonly onError: (error: Error) => void;
}

/** A worker's side of one queue. */
export interface Consumer {
  start(): void;
  /** Takes no more jobs. Resolves when the handlers have ended, or after the deadline. */
  stop(deadlineMs: number): Promise<void>;
}
