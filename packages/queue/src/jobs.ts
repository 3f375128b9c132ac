import { z } from 'zod';

/**
 * The job catalogue. A job is for one row. It carries ids and its claim, never a body or a secret. The row in
 * Postgres decides whether the job is still valid.
 */
export const deliveryJob = z.object({
  /** A bigint as text: ids exceed a JavaScript number. */
  deliveryId: z.string().regex(/^[0-9]{1,19}$/),
  claim: z.int().nonnegative(),
});

export const mailJob = z.object({
  emailId: z.string().min(1),
  claim: z.int().nonnegative(),
  /** Earlier sends without a recorded outcome. Absent when an older relay added the job. */
  faults: z.int().nonnegative().optional(),
});

export type DeliveryJob = z.infer<typeof deliveryJob>;
export type MailJob = z.infer<typeof mailJob>;

/**
 * The queues by key. `name` is BullMQ's. Endpoints that fail or hang have a queue of their own, and so their
 * own slots.
 */
export const QUEUES = {
  fast: { name: 'deliveries-fast', payload: deliveryJob },
  slow: { name: 'deliveries-slow', payload: deliveryJob },
  mail: { name: 'mail', payload: mailJob },
} as const;

/** The queues of deliveries. */
export const LANES = ['fast', 'slow'] as const;

export type QueueKey = keyof typeof QUEUES;
export type Lane = (typeof LANES)[number];
export type JobOf<K extends QueueKey> = z.infer<(typeof QUEUES)[K]['payload']>;

export const QUEUE_KEYS = Object.keys(QUEUES) as readonly QueueKey[];

export function deliveryJobId(job: DeliveryJob): string {
  return `d_${job.deliveryId}_${job.claim}`;
}

export function mailJobId(job: MailJob): string {
  return `m_${job.emailId}_${job.claim}`;
}

/** A job to add. A worker gets it after `delayMs`. */
export type JobToAdd<Job> = Job & {
  readonly delayMs: number;
  /** It is a batch of its own. Otherwise up to 16 due jobs of one call share a batch. */
  readonly alone?: boolean;
  /**
   * An earlier lease ended, and its job may be stuck. This job gets an id of its own: the queue drops a
   * second job with the same id.
   */
  readonly leaseExpired?: boolean;
};
