import { newId } from '@postrider/domain';
import type { Clock, DeliveryOutcome } from '@postrider/domain';
import type { DeadAttempt, DeliveryWork, FinishedAttempt, RetriedAttempt } from '@postrider/store';
import { grouped } from '../grouped.ts';
import { untilPostgresAnswers } from '../until-postgres-answers.ts';
import type { Attempt } from './attempt.ts';
import type { LoadedDelivery } from './load.ts';

type Kind = DeliveryOutcome['kind'];

/** One attempt to record. */
interface Entry<K extends Kind = Kind> {
  readonly delivery: LoadedDelivery;
  readonly attempt: Attempt;
  readonly outcome: DeliveryOutcome & { readonly kind: K };
}

/**
 * Records the outcome of an attempt. One statement records all concurrent outcomes of the same kind.
 *
 * @returns false when the delivery was no longer this worker's: another worker took it, its webhook was
 * deleted, or an earlier try of this call recorded it
 */
export type Recorder = (
  delivery: LoadedDelivery,
  attempt: Attempt,
  outcome: DeliveryOutcome,
) => Promise<boolean>;

export function createRecorder(store: Pick<DeliveryWork, 'done' | 'retry' | 'dead'>, clock: Clock): Recorder {
  const done = groupedFor<'done'>((entries, nowMs) =>
    store.done(entries.map((entry) => finishedAttempt(entry, nowMs))),
  );
  const retry = groupedFor<'retry'>((entries, nowMs) =>
    store.retry(
      entries.map((entry): RetriedAttempt => ({
        ...finishedAttempt(entry, nowMs),
        error: entry.outcome.lastError,
        dueInMs: entry.attempt.endedAtMs + entry.outcome.delayMs - nowMs,
      })),
    ),
  );
  const dead = groupedFor<'dead'>((entries, nowMs) =>
    store.dead(
      entries.map((entry): DeadAttempt => ({
        ...finishedAttempt(entry, nowMs),
        error: entry.outcome.lastError,
        reason: entry.outcome.reason,
        deadLetterId: newId('deadLetter', clock),
        requestMade: entry.attempt.result.kind !== 'refused',
      })),
    ),
  );

  return (delivery, attempt, outcome) =>
    untilPostgresAnswers(() => {
      switch (outcome.kind) {
        case 'done':
          return done({ delivery, attempt, outcome });
        case 'retry':
          return retry({ delivery, attempt, outcome });
        case 'dead':
          return dead({ delivery, attempt, outcome });
      }
    }, delivery.leaseEndsAtMs);
}

/**
 * `finish` gets the time when its statement starts. An entry resolves to true if its row was still this
 * worker's.
 */
function groupedFor<K extends Kind>(
  finish: (entries: readonly Entry<K>[], nowMs: number) => Promise<string[]>,
): (entry: Entry<K>) => Promise<boolean> {
  return grouped<Entry<K>, boolean>(async (entries) => {
    const ended = new Set(await finish(entries, performance.now()));
    const latest = latestClaims(entries);
    return entries.map(
      ({ delivery: { deliveryId, claim } }) => ended.has(deliveryId) && latest.get(deliveryId) === claim,
    );
  });
}

/**
 * A group may contain a delivery twice: under an expired lease, and under the lease that this worker took
 * next. Only the later one can be recorded.
 */
function latestClaims(entries: readonly Entry[]): Map<string, number> {
  const latest = new Map<string, number>();
  for (const { delivery } of entries) {
    const { deliveryId, claim } = delivery;
    latest.set(deliveryId, Math.max(claim, latest.get(deliveryId) ?? claim));
  }
  return latest;
}

function finishedAttempt({ delivery, attempt }: Entry, nowMs: number): FinishedAttempt {
  const { result, startedAtMs, endedAtMs } = attempt;
  const answered = result.kind === 'answered' ? result : null;
  return {
    deliveryId: delivery.deliveryId,
    claim: delivery.claim,
    eventId: delivery.eventId,
    webhookId: delivery.webhookId,
    eventType: delivery.eventType,
    startedAgoMs: nowMs - startedAtMs,
    durationMs: Math.round(endedAtMs - startedAtMs),
    statusCode: answered?.statusCode ?? null,
    answer: answered === null || answered.excerpt.length === 0 ? null : answered.excerpt,
  };
}
