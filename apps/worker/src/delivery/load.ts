import { isOutage } from '@postrider/store';
import type { DeliveryClaim, DeliveryWork, TakenDelivery } from '@postrider/store';
import { grouped } from '../grouped.ts';
import { untilPostgresAnswers } from '../until-postgres-answers.ts';

/** What the stage `load` returns: the taken delivery, and its lease on this process's monotonic clock. */
export interface LoadedDelivery extends TakenDelivery {
  readonly takenAtMs: number;
  readonly leaseEndsAtMs: number;
}

/**
 * Takes the delivery of a job. One statement takes the deliveries of all concurrent jobs. In an outage of
 * Postgres it tries again for as long as the relay's lease may last. It does not repeat a take that failed
 * because a row stayed locked: that row would delay its batch again.
 *
 * @param stopped aborted when the worker stops: then no take is repeated
 * @returns null for a stale or duplicate job.
 */
export function createLoader(
  store: Pick<DeliveryWork, 'take'>,
  leaseSeconds: number,
  workerNumber: number,
  stopped: AbortSignal,
): (job: DeliveryClaim) => Promise<LoadedDelivery | null> {
  const take = grouped<DeliveryClaim, LoadedDelivery | null>(async (jobs) => {
    const takenAtMs = performance.now();
    const taken = new Map(
      (await store.take(jobs, leaseSeconds, workerNumber)).map((row) => [row.deliveryId, row]),
    );
    return jobs.map((job) => {
      const row = taken.get(job.deliveryId);
      taken.delete(job.deliveryId); // of two jobs for one row, the first gets it
      if (row === undefined) return null;
      return { ...row, takenAtMs, leaseEndsAtMs: takenAtMs + row.dueInMs + leaseSeconds * 1000 };
    });
  });
  const mayRepeat = (error: unknown) => isOutage(error) && !stopped.aborted;
  return (job) => untilPostgresAnswers(() => take(job), performance.now() + leaseSeconds * 1000, mayRepeat);
}
