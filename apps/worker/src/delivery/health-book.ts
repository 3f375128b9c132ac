import type { WebhookId } from '@postrider/domain';

/**
 * Follows how endpoints answer, and says when one begins to fail or answers well again. A score between 0 and 1
 * moves a part of the way towards each outcome; two bounds keep it from flapping.
 */
export interface HealthBook {
  /**
   * @param storedFailing what is written down of the webhook: where an endpoint that this process has not met begins.
   * @returns whether the webhook is failing, where that differs from what is written down; else null.
   */
  note(webhookId: WebhookId, succeeded: boolean, storedFailing: boolean): boolean | null;
}

/** How far one outcome moves the score: four failures in a row from 1 reach 0.41, eight good answers from 0 0.83. */
const STEP = 0.2;
const FAILING_BELOW = 0.5;
const WELL_ABOVE = 0.8;
/** Where an endpoint begins that is written down as failing. */
const STORED_FAILING_SCORE = 0.2;
const SCORES_MAX = 50_000;

interface Score {
  readonly value: number;
  readonly failing: boolean;
  /** What was written down when the score was last moved. */
  readonly storedFailing: boolean;
}

export function createHealthBook(): HealthBook {
  const scores = new Map<WebhookId, Score>();

  return {
    note(webhookId, succeeded, storedFailing) {
      const before = beforeThis(scores.get(webhookId), storedFailing);
      const value = before.value + STEP * ((succeeded ? 1 : 0) - before.value);
      const failing = before.failing ? value <= WELL_ABOVE : value < FAILING_BELOW;
      const perfect = succeeded && !storedFailing && before.value === 1;
      if (!perfect) remember(scores, webhookId, { value, failing, storedFailing });
      // Never against the outcome itself: a good answer is no reason to call an endpoint failing.
      return failing === storedFailing || failing === succeeded ? null : failing;
    },
  };
}

/** The score to go on from. What another worker has written down since counts more than what this one remembers. */
function beforeThis(score: Score | undefined, storedFailing: boolean): Pick<Score, 'value' | 'failing'> {
  const changedElsewhere =
    score !== undefined && score.storedFailing !== storedFailing && score.failing !== storedFailing;
  if (score !== undefined && !changedElsewhere) return score;
  return { value: storedFailing ? STORED_FAILING_SCORE : 1, failing: storedFailing };
}

/** Forgets the one that was longest not heard of when there are too many. */
function remember(scores: Map<WebhookId, Score>, webhookId: WebhookId, score: Score): void {
  scores.delete(webhookId); // to the end: the map's order is the order of use
  scores.set(webhookId, score);
  if (scores.size <= SCORES_MAX) return;
  const oldest = scores.keys().next();
  if (oldest.done !== true) scores.delete(oldest.value);
}
