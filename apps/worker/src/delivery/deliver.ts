import { setTimeout as delay } from 'node:timers/promises';
import { decideOutcome } from '@postrider/domain';
import type { RetrySchedule } from '@postrider/domain';
import type { DeliveryClaim } from '@postrider/store';
import { during } from '../stage-fault.ts';
import type { Attempt } from './attempt.ts';
import type { LoadedDelivery } from './load.ts';
import type { Recorder } from './record.ts';
import type { Reporter } from './report.ts';

/** The stages of a delivery, and the schedule that `decideOutcome` needs. */
export interface DeliveryStages {
  /** Returns null for a stale or duplicate job. */
  readonly load: (job: DeliveryClaim) => Promise<LoadedDelivery | null>;
  /** Signs and posts. The client may refuse the address. */
  readonly attempt: (delivery: LoadedDelivery) => Promise<Attempt>;
  readonly record: Recorder;
  readonly schedule: RetrySchedule;
  readonly report: Reporter;
}

/**
 * Makes one attempt to deliver one event to one endpoint. A customer's failure is an outcome. A fault of our
 * own (Postgres unavailable, a key missing) rejects: nothing is recorded, no attempt counts, and the lease
 * brings the delivery back.
 *
 * @throws StageFault
 */
export async function deliver(job: DeliveryClaim, stages: DeliveryStages): Promise<void> {
  const delivery = await during('load', stages.load(job));
  if (delivery === null) return;
  const ids = { event_id: delivery.eventId, webhook_id: delivery.webhookId };
  // The queue and Postgres use different clocks, so a job may arrive slightly early.
  if (delivery.dueInMs > 0) await delay(delivery.dueInMs);
  const attempt = await during('attempt', stages.attempt(delivery), ids);
  const outcome = decideOutcome(attempt.result, delivery.attemptsMade + 1, stages.schedule);
  const recorded = await during('record', stages.record(delivery, attempt, outcome), ids);
  stages.report(delivery, attempt, outcome, recorded);
}
