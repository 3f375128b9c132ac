import { z } from 'zod';

/**
 * The job catalogue. A job carries ids and the claim it is good for, never a body or a secret; the row in Postgres
 * decides whether it still means anything.
 */
export const deliveryJob = z.object({
  /** A bigint as text: ids outgrow a JavaScript number. */
  deliveryId: z.string().regex(/^[0-9]{1,19}$/),
  claim: z.int().nonnegative(),
});

export const mailJob = z.object({
  emailId: z.string().min(1),
  claim: z.int().nonnegative(),
  /** Earlier hand-overs of which no outcome was recorded; absent: a relay that does not tell made the job. */
  faults: z.int().nonnegative().optional(),
});

export type DeliveryJob = z.infer<typeof deliveryJob>;
export type MailJob = z.infer<typeof mailJob>;

/** The queues, by name. Endpoints that lately failed or dawdle have a queue, and so slots, of their own. */
export const QUEUES = {
  fast: { name: 'deliveries-fast', payload: deliveryJob },
  slow: { name: 'deliveries-slow', payload: deliveryJob },
  mail: { name: 'mail', payload: mailJob },
} as const;

export type QueueKey = keyof typeof QUEUES;
export type Lane = Exclude<QueueKey, 'mail'>;
export type JobOf<K extends QueueKey> = z.infer<(typeof QUEUES)[K]['payload']>;

export const QUEUE_KEYS = Object.keys(QUEUES) as readonly QueueKey[];

/** New at every hand-over, so that a doubled job is dropped and a legitimate one never is. */
export function deliveryJobId(job: DeliveryJob): string {
  return `d_${job.deliveryId}_${job.claim}`;
}

export function mailJobId(job: MailJob): string {
  return `m_${job.emailId}_${job.claim}`;
}
