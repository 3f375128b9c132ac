import type { DeliveryKey, FaultEntry, History, Receipt, StoredAttempt, Violation } from './history.ts';
import { isRemoved, isSuccess, webhookIdOf } from './index-history.ts';
import type { HistoryIndex } from './index-history.ts';

/**
 * I5 by the receivers' log. Nothing arrives after a 2xx or a 410, unless the attempt was in flight at a fault
 * in between, or the event was replayed. Nothing arrives for a deleted webhook after the claimed attempts.
 * Each answer in the log of attempts was given by the endpoint.
 */
export function findEndingFaults(history: History, index: HistoryIndex): Violation[] {
  const keys = new Set([...index.receipts.keys(), ...index.attempts.keys(), ...index.deadLetters.keys()]);
  return [...keys].flatMap((key) => [
    ...arrivalsAfterTheEnd(key, history, index),
    ...arrivalsAfterRemoval(key, history, index),
    ...inventedAnswers(key, index),
    ...wrongDeadLetters(key, history, index),
  ]);
}

function arrivalsAfterTheEnd(key: DeliveryKey, { rules }: History, index: HistoryIndex): Violation[] {
  const receipts = index.receipts.get(key) ?? [];
  const excuses = index.excuses.get(key) ?? [];
  const replays = index.replays.get(key)?.length ?? 0;
  const timedOut = (index.attempts.get(key) ?? []).filter((attempt) => attempt.status === null);
  const ended = receipts.findIndex(
    (receipt) => endsTheSet(receipt) && !timedOut.some(madeRequest(receipt, rules.earlyToleranceMs)),
  );
  const end = receipts[ended];
  if (end?.answeredAtMs == null) return [];
  const { answeredAtMs } = end;
  const late = receipts
    .slice(ended + 1)
    .filter((receipt) => receipt.arrivedAtMs > answeredAtMs && !excuses.some(between(end, receipt)));
  if (late.length === 0 || replays > 0) return [];
  return [
    { invariant: 'I5', key, text: `${late.length} requests arrived after the answer ${String(end.status)}` },
  ];
}

function endsTheSet(receipt: Receipt): boolean {
  return receipt.answeredAtMs !== null && (isSuccess(receipt.status) || receipt.status === 410);
}

/**
 * Finds the attempt that made this request. The request may arrive after the end of its attempt, from a
 * buffer before a slow endpoint. Then the time of its signature shows the attempt (whole seconds, rounded
 * down).
 */
function madeRequest(
  { arrivedAtMs, signedAt }: Receipt,
  toleranceMs: number,
): (attempt: StoredAttempt) => boolean {
  return ({ startedAtMs, durationMs }) =>
    arrivedAtMs >= startedAtMs - toleranceMs &&
    (signedAt ?? Infinity) * 1000 <= startedAtMs + durationMs + toleranceMs;
}

function between(end: Receipt, next: Receipt): (fault: FaultEntry) => boolean {
  return (fault) => fault.endedAtMs >= end.arrivedAtMs && fault.atMs <= next.arrivedAtMs;
}

function arrivalsAfterRemoval(key: DeliveryKey, { rules }: History, index: HistoryIndex): Violation[] {
  const removed = index.webhooks.get(webhookIdOf(key))?.removed;
  if (removed == null) return [];
  const lastAtMs = removed.endedAtMs + rules.afterRemovalMs;
  const late = (index.receipts.get(key) ?? []).filter((receipt) => receipt.arrivedAtMs > lastAtMs);
  if (late.length === 0) return [];
  return [{ invariant: 'I5', key, text: `${late.length} requests arrived after the DELETE of the webhook` }];
}

function inventedAnswers(key: DeliveryKey, index: HistoryIndex): Violation[] {
  const recorded = (index.attempts.get(key) ?? []).filter((attempt) => attempt.status !== null).length;
  const received = index.receipts.get(key)?.length ?? 0;
  if (recorded <= received) return [];
  return [{ invariant: 'I5', key, text: `${recorded} answers are recorded, ${received} requests arrived` }];
}

/** A dead letter follows a 410, or a failure of the last attempt of the schedule. */
function wrongDeadLetters(key: DeliveryKey, history: History, index: HistoryIndex): Violation[] {
  const letter = index.deadLetters.get(key);
  // A refusal makes no request: it may follow any attempt.
  if (letter === undefined || isRemoved(key, index) || letter.lastError.startsWith('refused')) return [];
  const last = index.attempts.get(key)?.at(-1);
  if (last === undefined) return [{ invariant: 'I5', key, text: 'became a dead letter without an attempt' }];
  const exhausted = last.attempt === history.rules.retryDelaysMs.length + 1;
  const right = last.status === 410 || (exhausted && !isSuccess(last.status));
  if (right) return [];
  const text = `became a dead letter at attempt ${last.attempt}, status ${String(last.status)}`;
  return [{ invariant: 'I5', key, text }];
}
