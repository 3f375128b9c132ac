import { failureRunAfter, hostOf, isFailing } from '@postrider/domain';
import type { DeliveryOutcome, EndedAttempt, FailureRun, WebhookId } from '@postrider/domain';
import type { Logger, Metrics } from '@postrider/runtime';
import type { ChangedWebhook, DeliveryWork } from '@postrider/store';
import { LRUCache } from 'lru-cache';
import { grouped } from '../grouped.ts';
import type { Attempt } from './attempt.ts';
import type { LoadedDelivery } from './load.ts';

/** Webhooks whose last attempt failed. Above this number, the least recent one is forgotten. */
const RUNS_MAX = 50_000;

export interface ReporterParts {
  readonly logger: Logger;
  readonly metrics: Metrics<'worker'>;
  readonly store: Pick<DeliveryWork, 'markHealth'>;
}

type StoredHealth = Parameters<DeliveryWork['markHealth']>[0][number];

/** Reports each attempt with its outcome. `recorded` is false when the row was no longer this worker's. */
export type Reporter = (
  delivery: LoadedDelivery,
  attempt: Attempt,
  outcome: DeliveryOutcome,
  recorded: boolean,
) => void;

/** Writes one log line and the metrics of each attempt. Stores the endpoint's health when it changes. */
export function createReporter({ logger, metrics, store }: ReporterParts): Reporter {
  const health = new HealthBook();
  // Many attempts may notice one change. A statement gets the last change of each webhook, and only the
  // attempt of that change logs it.
  const changeHealth = grouped<StoredHealth, ChangedWebhook | undefined>(async (batch) => {
    const latest = new Map(batch.map((change) => [change.webhookId, change]));
    const stored = await store.markHealth([...latest.values()]);
    const changed = new Map(stored.map((webhook) => [webhook.webhookId, webhook]));
    return batch.map((change) =>
      latest.get(change.webhookId) === change ? changed.get(change.webhookId) : undefined,
    );
  });

  return (delivery, attempt, outcome, recorded) => {
    const durationMs = attempt.endedAtMs - attempt.startedAtMs;
    metrics.deliveryAttempts.inc({ result: outcome.kind });
    metrics.attemptDuration.observe(durationMs / 1000);
    const waitedMs = attempt.startedAtMs - delivery.takenAtMs - delivery.dueInMs;
    metrics.deliveryLateness.observe(Math.max(0, delivery.lateMs + waitedMs) / 1000);
    if (outcome.kind === 'dead' && recorded) metrics.deadLetters.inc({ reason: outcome.reason });
    logger.info('delivery.attempted', lineOf(delivery, attempt, outcome, recorded));

    const ended = { succeeded: outcome.kind === 'done', ...attempt };
    const failing = health.note(delivery.webhookId, ended, delivery.failing);
    if (failing !== null) void writeHealth(delivery.webhookId, failing);
  };

  async function writeHealth(webhookId: WebhookId, failing: boolean): Promise<void> {
    try {
      const changed = await changeHealth({ webhookId, failing });
      if (changed === undefined) return;
      logger.warn(failing ? 'endpoint.failing' : 'endpoint.recovered', {
        webhook_id: webhookId,
        account_id: changed.accountId,
        host: hostOf(changed.endpoint),
      });
    } catch (error) {
      // The endpoint's next outcome tries again.
      logger.warn('health not written down', { webhook_id: webhookId, error });
    }
  }
}

function lineOf(delivery: LoadedDelivery, attempt: Attempt, outcome: DeliveryOutcome, recorded: boolean) {
  const { result } = attempt;
  return {
    event_id: delivery.eventId,
    event_type: delivery.eventType,
    ...emailOf(delivery.eventData),
    webhook_id: delivery.webhookId,
    delivery_id: delivery.deliveryId,
    attempt: delivery.attemptsMade + 1,
    outcome: outcome.kind,
    duration_ms: Math.round(attempt.endedAtMs - attempt.startedAtMs),
    ...(result.kind === 'answered' ? { status: result.statusCode } : { error: result.error }),
    ...(outcome.kind === 'retry' ? { retry_in_ms: outcome.delayMs } : {}),
    ...(outcome.kind === 'dead' ? { reason: outcome.reason } : {}),
    // The delivery was no longer this worker's: see `Recorder`.
    ...(recorded ? {} : { unrecorded: true }),
  };
}

/** The message that the event is about. In the data of such an event its id is the first value. */
function emailOf(eventData: string): { email_id?: string } {
  const [, emailId] = /^\{"email_id":"(em_\w+)"/.exec(eventData) ?? [];
  return emailId === undefined ? {} : { email_id: emailId };
}

/** Remembers which endpoints failed last, and reports when one starts to fail or recovers. */
export class HealthBook {
  readonly #runs = new LRUCache<WebhookId, FailureRun>({ max: RUNS_MAX });

  /**
   * @param storedFailing the state in the database at the take
   * @returns the state to store; null: the stored state is right, or too few attempts have failed
   */
  note(webhookId: WebhookId, attempt: EndedAttempt, storedFailing: boolean): boolean | null {
    const run = failureRunAfter(this.#runs.get(webhookId) ?? null, attempt);
    if (run === null) {
      this.#runs.delete(webhookId);
      return storedFailing ? false : null;
    }
    this.#runs.set(webhookId, run);
    return !storedFailing && isFailing(run, attempt.endedAtMs) ? true : null;
  }
}
