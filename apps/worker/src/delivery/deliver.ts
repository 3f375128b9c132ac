import { decideOutcome } from '@postrider/domain';
import type { DeliveryOutcome, RetrySchedule } from '@postrider/domain';
import type { DeliveryHandOver } from '@postrider/store';
import type { Attempt } from './attempt.ts';
import type { LoadedDelivery } from './load.ts';
import type { Recorder } from './record.ts';

/** The stages of a delivery, as design names them. */
export interface DeliveryStages {
  /**
   * Resolves when it is the job's turn to be taken; none: at once. The relay takes for hanging what has been taken for long,
   * so what waits for its turn is not taken yet.
   */
  readonly turn?: () => Promise<void>;
  /** Null for a job that is stale or doubled. */
  readonly load: (job: DeliveryHandOver) => Promise<LoadedDelivery | null>;
  /** Refuses, signs and posts. Null when its turn came too late for its lease: it may be another worker's before it has ended. */
  readonly attempt: (delivery: LoadedDelivery) => Promise<Attempt | null>;
  readonly record: Recorder;
  readonly schedule: RetrySchedule;
  /** Told of each attempt, with what came of it. */
  readonly report: (
    delivery: LoadedDelivery,
    attempt: Attempt,
    outcome: DeliveryOutcome,
    ours: boolean,
  ) => void;
}

/**
 * Delivers one event to one endpoint, once: one job, one attempt. A customer's failure is an outcome. A fault of our
 * own (Postgres away, a key missing) rejects: nothing is recorded, no attempt counts, and the lease heals it.
 */
export async function deliver(job: DeliveryHandOver, stages: DeliveryStages): Promise<void> {
  await stages.turn?.();
  const delivery = await stages.load(job);
  if (delivery === null) return;
  await untilDue(delivery.earlyMs);
  const attempt = await stages.attempt(delivery);
  if (attempt === null) return;
  const outcome = decideOutcome(attempt.result, delivery.attemptsMade + 1, stages.schedule);
  const ours = await stages.record(delivery, attempt, outcome);
  stages.report(delivery, attempt, outcome, ours);
}

/** Timers of the queue go by other clocks than Postgres: a job may come a little before its time. */
async function untilDue(earlyMs: number): Promise<void> {
  if (earlyMs > 0) await new Promise((resolve) => setTimeout(resolve, earlyMs));
}
