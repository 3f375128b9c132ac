import type { DeliveryJob, Lane, MailJob, QueueKey } from './jobs.ts';

/** A job to be handed to a worker after a delay. */
export type JobToAdd<Job> = Job & {
  readonly delayMs: number;
  /** Of the jobs that could run those without it go first. */
  readonly lowPriority?: boolean;
  /** Those of one call that are due and have the same group are carried by one job of the queue, up to a number. */
  readonly group?: string;
};

/** Each that a job of the queue carries counts. */
export interface QueueDepth {
  /** Jobs that could run now. */
  readonly waiting: number;
  /** Jobs whose delay is not over. */
  readonly delayed: number;
}

/**
 * The relay's side of the queue, and the only way into it. What is put here may be lost at any moment; whoever puts
 * it keeps the truth elsewhere.
 */
export interface Producer {
  /** Adding a job that is there already does nothing. @throws QueueUnavailableError */
  addDeliveries(lane: Lane, jobs: readonly JobToAdd<DeliveryJob>[]): Promise<void>;
  addMail(jobs: readonly JobToAdd<MailJob>[]): Promise<void>;
  depth(): Promise<Record<QueueKey, QueueDepth>>;
  /** Redis's `maxmemory-policy`. Null: it does not say, or the queue is on Postgres. @throws QueueUnavailableError */
  evictionPolicy(): Promise<string | null>;
  close(): Promise<void>;
}

/** Redis, or the queue's Postgres, did not take the call. */
export class QueueUnavailableError extends Error {
  override readonly name = 'QueueUnavailableError';

  constructor(cause: unknown) {
    super(`the queue is not available: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

export interface ConsumerOptions<Job> {
  /** Jobs in hand at a time. What one job of the queue carries is begun together, and may exceed it. */
  readonly concurrency: number;
  /**
   * How long a job may be missing that was fetched and of which nothing was heard since (30): then another gets it. Until
   * then adding it again does nothing, so this should be no longer than the lease on what it stands for.
   */
  readonly lockSeconds?: number;
  /** Never rejects for what a job's work came to. A slot is free again when it resolves. */
  readonly handle: (job: Job) => Promise<void>;
  /** Told of trouble with the queue itself; the consumer goes on and reconnects. */
  readonly onError: (error: Error) => void;
}

/** A worker's side of one queue. */
export interface Consumer {
  start(): void;
  /** Takes no new job from now on, and resolves when the handlers have ended or the time is over. */
  stop(deadlineMs: number): Promise<void>;
}
