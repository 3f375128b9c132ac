import { decideOutcome } from '@postrider/domain';
import type { DeliveryOutcome, RetrySchedule } from '@postrider/domain';
import type { DeliveryClaim } from '@postrider/store';
import { during } from '../stage-fault.ts';
import type { Attempt } from './attempt.ts';
import type { LoadedDelivery } from './load.ts';
import type { Recorder } from './record.ts';

/** The stages of a delivery, as design names them. */
export interface DeliveryStages {
  /** Null for a job that is stale or doubled. */
  readonly load: (job: DeliveryClaim) => Promise<LoadedDelivery | null>;
  /** Refuses, signs and posts. */
  readonly attempt: (delivery: LoadedDelivery) => Promise<Attempt>;
  readonly record: Recorder;
  readonly schedule: RetrySchedule;
  /** Told of each attempt, with what came of it. */
  readonly report: (
    delivery: LoadedDelivery,
    attempt: Attempt,
    outcome: DeliveryOutcome,
    recorded: boolean,
  ) => void;
}

/**
 * Delivers one event to one endpoint, once: one job, one attempt. A customer's failure is an outcome. A fault of our
 * own (Postgres away, a key missing) rejects: nothing is recorded, no attempt counts, and the lease heals it.
 *
 * @throws StageFault
 */
export async function deliver(job: DeliveryClaim, stages: DeliveryStages): Promise<void> {
  const delivery = await during('load', stages.load(job));
  if (delivery === null) return;
  await untilDue(delivery.earlyMs);
  const attempt = await during('attempt', stages.attempt(delivery));
  const outcome = decideOutcome(attempt.result, delivery.attemptsMade + 1, stages.schedule);
  const recorded = await during('record', stages.record(delivery, attempt, outcome));
  stages.report(delivery, attempt, outcome, recorded);
}

/** Timers of the queue go by other clocks than Postgres: a job may come a little before its time. */
async function untilDue(earlyMs: number): Promise<void> {
  if (earlyMs > 0) await new Promise((resolve) => setTimeout(resolve, earlyMs));
}
