import type { DeliveryKey, Receipt, Rules, StoredAttempt, Violation } from './history.ts';
import { isRemoved, isSuccess } from './index-history.ts';
import type { HistoryIndex } from './index-history.ts';

/**
 * I4: a set has at most 8 attempts, numbered without a gap, none before its time. I5: no attempt follows the
 * end of a set, and there is one set more than replays.
 *
 * A set has the attempts of one row in `deliveries`. A replay makes a new row, and so a new set. The check
 * reads the log of attempts, and also the receivers' log when that has a line for each attempt.
 */
export function findScheduleFaults(index: HistoryIndex, rules: Rules): Violation[] {
  return [...index.attempts].flatMap(([key, attempts]) => {
    const sets = [...Map.groupBy(attempts, (attempt) => attempt.deliveryId).values()];
    const setsMax = 1 + (index.replays.get(key)?.length ?? 0);
    const receipts = index.receipts.get(key) ?? [];
    return [
      ...(sets.length > setsMax ? [violation('I5', key, `${sets.length} sets of attempts`)] : []),
      ...sets.flatMap((set) => faultsOfSet(key, set, index, rules)),
      ...(receipts.length === attempts.length && !isRemoved(key, index)
        ? earlyArrivals(key, attempts, receipts, index, rules)
        : []),
    ];
  });
}

function faultsOfSet(
  key: DeliveryKey,
  set: readonly StoredAttempt[],
  index: HistoryIndex,
  rules: Rules,
): Violation[] {
  const attemptsMax = rules.retryDelaysMs.length + 1;
  const found: Violation[] = [];
  set.forEach((attempt, at) => {
    if (attempt.attempt !== at + 1)
      found.push(violation('I4', key, `attempt ${attempt.attempt} is number ${at + 1}`));
    const before = set[at - 1];
    if (before === undefined) return;
    if (isSuccess(before.status) || before.status === 410) {
      found.push(violation('I5', key, `an attempt follows the answer ${String(before.status)}`));
    }
    const endedAtMs = before.startedAtMs + before.durationMs;
    const dueAtMs =
      endedAtMs + delayBefore(attempt, rules) - hastenedMs(endedAtMs, attempt.startedAtMs, index);
    const earlyMs = dueAtMs - attempt.startedAtMs;
    if (earlyMs > rules.earlyToleranceMs) {
      found.push(violation('I4', key, `attempt ${attempt.attempt} began ${Math.round(earlyMs)} ms early`));
    }
  });
  if (set.length > attemptsMax) found.push(violation('I4', key, `${set.length} attempts in a set`));
  return found;
}

/** Measures by the receivers' clock, from the answer to the next arrival. */
function earlyArrivals(
  key: DeliveryKey,
  attempts: readonly StoredAttempt[],
  receipts: readonly Receipt[],
  index: HistoryIndex,
  rules: Rules,
): Violation[] {
  return receipts.flatMap((receipt, at) => {
    const before = receipts[at - 1];
    const attempt = attempts[at];
    if (before === undefined || attempt === undefined || attempt.attempt === 1) return [];
    // An attempt that was given up may have been answered afterwards.
    const answeredAtMs = attempts[at - 1]?.status === null ? null : before.answeredAtMs;
    const endedAtMs = answeredAtMs ?? before.arrivedAtMs;
    const dueAtMs =
      endedAtMs + delayBefore(attempt, rules) - hastenedMs(endedAtMs, receipt.arrivedAtMs, index);
    const earlyMs = dueAtMs - receipt.arrivedAtMs;
    if (earlyMs <= rules.earlyToleranceMs) return [];
    return [violation('I4', key, `request ${at + 1} arrived ${Math.round(earlyMs)} ms early`)];
  });
}

/** Due times follow Postgres' clock. Returns its steps forwards in between. */
function hastenedMs(fromMs: number, toMs: number, { clockSteps }: HistoryIndex): number {
  return clockSteps
    .filter((step) => step.endedAtMs >= fromMs && step.atMs <= toMs)
    .reduce((sum, { clockStepMs = 0 }) => sum + clockStepMs, 0);
}

function delayBefore(attempt: StoredAttempt, rules: Rules): number {
  return rules.retryDelaysMs[attempt.attempt - 2] ?? 0;
}

function violation(invariant: 'I4' | 'I5', key: DeliveryKey, text: string): Violation {
  return { invariant, key, text };
}
