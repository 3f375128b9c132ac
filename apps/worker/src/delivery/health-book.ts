import type { WebhookId } from '@postrider/domain';
import { LRUCache } from 'lru-cache';

/**
 * Each outcome moves the score by this part of its distance. Four failures in a row move it from 1 to 0.41;
 * eight successes move it from 0 to 0.83.
 */
const STEP = 0.2;
const FAILING_BELOW = 0.5;
const WELL_ABOVE = 0.8;
/** Initial score of an endpoint that is stored as failing. */
const STORED_FAILING_SCORE = 0.2;
const SCORES_MAX = 50_000;

interface Score {
  readonly value: number;
  readonly failing: boolean;
  /** The stored state when the score last moved. */
  readonly storedFailing: boolean;
}

/**
 * Tracks how endpoints answer, and reports when one starts to fail or recovers. Each outcome moves a score
 * between 0 and 1. Two thresholds keep the state stable.
 */
export class HealthBook {
  readonly #scores = new LRUCache<WebhookId, Score>({ max: SCORES_MAX });

  /**
   * @param storedFailing the state in the database. An endpoint that is new to this process starts with it.
   * @returns whether the webhook is failing, if that differs from the stored state. Otherwise null.
   */
  note(webhookId: WebhookId, succeeded: boolean, storedFailing: boolean): boolean | null {
    const before = scoreBefore(this.#scores.peek(webhookId), storedFailing);
    const value = before.value + STEP * ((succeeded ? 1 : 0) - before.value);
    const failing = before.failing ? value <= WELL_ABOVE : value < FAILING_BELOW;
    const perfect = succeeded && !storedFailing && before.value === 1;
    if (!perfect) this.#scores.set(webhookId, { value, failing, storedFailing });
    // A success is no reason to call an endpoint failing, nor a failure to call it healthy.
    return failing === storedFailing || failing === succeeded ? null : failing;
  }
}

/**
 * The score before this outcome. If another worker changed the stored state, that state counts more than this
 * process's score.
 */
function scoreBefore(score: Score | undefined, storedFailing: boolean): Pick<Score, 'value' | 'failing'> {
  const changedElsewhere =
    score !== undefined && score.storedFailing !== storedFailing && score.failing !== storedFailing;
  if (score !== undefined && !changedElsewhere) return score;
  return { value: storedFailing ? STORED_FAILING_SCORE : 1, failing: storedFailing };
}
