import { z } from 'zod';
import type { JobToAdd } from './job-queue.ts';

/** What one job of BullMQ carries: one of our jobs, or several. */
export type Batch<Job> = [JobToAdd<Job>, ...JobToAdd<Job>[]];

/** These share the round trips of one job. More would be much for one worker where another has nothing to do. */
const BATCH_MAX = 16;
/** In no id of ours. */
const ID_SEPARATOR = '.';

/** Puts together what is due and of one group. Small batches first: a lone job does not wait behind another's sixteen. */
export function inBatches<Job>(jobs: readonly JobToAdd<Job>[]): Batch<Job>[] {
  const batches: Batch<Job>[] = [];
  const open = new Map<string, Batch<Job>>();
  for (const job of jobs) {
    const key =
      job.group === undefined || job.delayMs > 0 ? null : `${job.lowPriority ?? false} ${job.group}`;
    const batch = key === null ? undefined : open.get(key);
    if (batch !== undefined && batch.length < BATCH_MAX) {
      batch.push(job);
    } else {
      const begun: Batch<Job> = [job];
      batches.push(begun);
      if (key !== null) open.set(key, begun);
    }
  }
  return batches.sort((a, b) => a.length - b.length);
}

/** Names all that it carries: a batch that is added again is a double, one that is made otherwise is not. */
export function batchId(jobIds: readonly string[]): string {
  return jobIds.join(ID_SEPARATOR);
}

/** How many jobs these carry. */
export function jobsIn(batchIds: readonly string[]): number {
  return batchIds.reduce((sum, id) => sum + id.split(ID_SEPARATOR).length, 0);
}

/** A lone job travels as itself. */
export function batchData(jobs: readonly unknown[]): unknown {
  return jobs.length === 1 ? jobs[0] : { jobs };
}

/** Reads what {@link batchData} makes. */
export function batchOf<Job>(job: z.ZodType<Job>): z.ZodType<readonly Job[]> {
  const several = z.object({ jobs: z.array(job) }).transform(({ jobs }) => jobs);
  return z.union([job.transform((one) => [one]), several]);
}
