import { z } from 'zod';
import type { JobToAdd } from './jobs.ts';

/** The jobs that one BullMQ job carries, at least one. */
export type Batch<Job> = [JobToAdd<Job>, ...JobToAdd<Job>[]];

/**
 * Jobs per batch, at most. A batch needs the round trips of a single BullMQ job. Larger batches could
 * overload one worker while another is idle.
 */
export const BATCH_MAX = 16;
/** Our ids never contain this character. */
const ID_SEPARATOR = '.';

/** Puts due jobs into batches. A delayed job, or one that asks to be alone, is a batch of its own. */
export function inBatches<Job>(jobs: readonly JobToAdd<Job>[]): Batch<Job>[] {
  const batches: Batch<Job>[] = [];
  let open: Batch<Job> | null = null;
  for (const job of jobs) {
    const isAlone = job.alone === true || job.delayMs > 0;
    if (!isAlone && open !== null && open.length < BATCH_MAX) {
      open.push(job);
      continue;
    }
    const begun: Batch<Job> = [job];
    batches.push(begun);
    if (!isAlone) open = begun;
  }
  return batches;
}

/**
 * Id of a batch: the ids of all its jobs. Adding the same batch again is a duplicate; a batch of other jobs
 * is not.
 */
export function batchId(jobIds: readonly string[]): string {
  return jobIds.join(ID_SEPARATOR);
}

/** Number of jobs in these batches. */
export function jobsIn(batchIds: readonly string[]): number {
  return batchIds.reduce((sum, id) => sum + id.split(ID_SEPARATOR).length, 0);
}

/** A single job is stored without a batch around it. */
export function batchData(jobs: readonly unknown[]): unknown {
  return jobs.length === 1 ? jobs[0] : { jobs };
}

/** The schema of what {@link batchData} returns. */
export function batchSchema<Job>(job: z.ZodType<Job>): z.ZodType<readonly Job[]> {
  const several = z.object({ jobs: z.array(job) }).transform(({ jobs }) => jobs);
  return z.union([job.transform((one) => [one]), several]);
}
