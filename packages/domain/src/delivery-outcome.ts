import { delayAfter } from './retry-schedule.ts';
import type { RetrySchedule } from './retry-schedule.ts';

/** An attempt's result, from the endpoint client. */
export type AttemptResult =
  /** A complete response head arrived. The rest of the response does not matter. */
  | { readonly kind: 'answered'; readonly statusCode: number }
  /** No answer: a timeout, a reset, or a DNS, connect or TLS fault. The customer reads `error`. */
  | { readonly kind: 'failed'; readonly error: string }
  /** The address guard refused; no request was made. */
  | { readonly kind: 'refused'; readonly error: string };

export const DEAD_LETTER_REASONS = ['attempts_exhausted', 'rejected'] as const;

export type DeadLetterReason = (typeof DEAD_LETTER_REASONS)[number];

export type DeliveryOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'retry'; readonly delayMs: number; readonly lastError: string }
  | { readonly kind: 'dead'; readonly reason: DeadLetterReason; readonly lastError: string };

/**
 * The transition out of `queued` (contract section 3, row by row).
 *
 * @param attempt number of this attempt: 1 for the first. A replay begins at 1 again.
 */
export function decideOutcome(
  result: AttemptResult,
  attempt: number,
  schedule: RetrySchedule,
): DeliveryOutcome {
  if (result.kind === 'refused') return deadAsRejected(result.error);
  if (result.kind === 'failed') return retryOrGiveUp(result.error, attempt, schedule);
  const { statusCode } = result;
  if (statusCode >= 200 && statusCode <= 299) return { kind: 'done' };
  const lastError = `HTTP ${statusCode}`;
  return statusCode === 410 ? deadAsRejected(lastError) : retryOrGiveUp(lastError, attempt, schedule);
}

function deadAsRejected(lastError: string): DeliveryOutcome {
  return { kind: 'dead', reason: 'rejected', lastError };
}

function retryOrGiveUp(lastError: string, attempt: number, schedule: RetrySchedule): DeliveryOutcome {
  const delayMs = delayAfter(schedule, attempt);
  return delayMs === null
    ? { kind: 'dead', reason: 'attempts_exhausted', lastError }
    : { kind: 'retry', delayMs, lastError };
}
