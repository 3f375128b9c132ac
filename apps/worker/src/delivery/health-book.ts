import { failureRunAfter, isFailing } from '@postrider/domain';
import type { EndedAttempt, FailureRun, WebhookId } from '@postrider/domain';
import { LRUCache } from 'lru-cache';

const RUNS_MAX = 50_000;

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
