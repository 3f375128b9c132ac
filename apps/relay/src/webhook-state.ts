import type { AccountId } from '@postrider/domain';
import type { ClaimedDelivery } from '@postrider/store';
import { flightTimeAfter, meanFlightMs, NO_FLIGHT_TIME } from './flight-time.ts';
import type { FlightTime } from './flight-time.ts';

/**
 * How many deliveries of a webhook may be in flight at once. It begins small, grows by two for each that has ended since
 * the last claim (8, 24, 72, 216: much as TCP's slow start), and falls when the endpoint fails. An endpoint that answers
 * is bounded by its account's limit only: waiting for an answer costs a socket, not a processor. One that answers quickly
 * needs no more than `shared` to be busy, and gets no more while other webhooks are served, too: they would wait behind it.
 */
export const LIMITS = { first: 8, shared: 48, failing: 4 } as const;

/** For each delivery that ended: an endpoint that takes 4 s has 72 in flight after 8 s. */
const GROWTH = 2;

/** Quick: deliveries are in flight for no longer than this. With `shared` in flight that is 480 a second. */
const QUICK_MS = 100;
/** An endpoint with a shorter mean answers soon, though some of its answers take seconds. */
const SOON_MS = 500;
/** After a longer time without a claim nobody knows whether it still answers. */
const SERVED_RECENTLY_MS = 1_000;

/**
 * Healthy: it was seen to end deliveries since it last failed or hung. Unresponsive: it was last seen to hang; when its
 * attempts have timed out, they have ended too, and that says nothing good of it.
 */
export type Health = 'healthy' | 'unknown' | 'unresponsive';

/** What a relay knows of a webhook. */
export interface WebhookState {
  /** Unknown until the first claim that got something. */
  readonly accountId: AccountId | null;
  /** What its own deliveries have earned it; the account's limit comes on top. */
  readonly limit: number;
  /** What the last claim was allowed. */
  readonly claimLimit: number;
  /** In flight after the last claim, as far as this relay knows. */
  readonly inFlight: number;
  /** All of that has ended: a scan after the last claim found nothing in flight. */
  readonly idle: boolean;
  /** The last claim saw as many as it was allowed: there may be more behind them. */
  readonly reachedLimit: boolean;
  readonly health: Health;
  /** Deliveries of it have ended since it last failed, be it after a long time. */
  readonly answers: boolean;
  /** It was seen to hang since it was last served. */
  readonly hung: boolean;
  /** The claim that last served it; claims are counted from 1. */
  readonly lastClaim: number;
  /** When it was last served. */
  readonly servedAtMs: number;
  readonly flightTime: FlightTime;
}

/** Of a webhook that has not been claimed for yet. */
export const NEW_WEBHOOK: WebhookState = {
  accountId: null,
  limit: LIMITS.first,
  claimLimit: LIMITS.first,
  inFlight: 0,
  idle: true,
  reachedLimit: false,
  health: 'unknown',
  answers: false,
  hung: false,
  lastClaim: 0,
  servedAtMs: -Infinity,
  flightTime: NO_FLIGHT_TIME,
};

export interface ClaimContext {
  readonly servedAtMs: number;
  /** Other webhooks are served, too. */
  readonly othersServed: boolean;
  /** The account's limit. */
  readonly accountLimit: number;
}

/** What is known after a claim. @param claimed what it got for this webhook, one or more */
export function stateAfterClaim(
  before: WebhookState,
  claimed: readonly ClaimedDelivery[],
  { servedAtMs, othersServed, accountLimit }: ClaimContext,
): Omit<WebhookState, 'lastClaim'> {
  const inFlight = Math.max(...claimed.map((delivery) => delivery.inFlight));
  // What is only delayed is in nobody's way, and its leaving the queue would say nothing of the webhook.
  const inFlightNow = inFlight + claimed.filter((delivery) => delivery.delayMs === 0).length;
  // Not what it got: of two relays that claim at a time each gets a part.
  const rowsRead = Math.max(...claimed.map((delivery) => delivery.rowsRead));
  const fails = claimed.some((delivery) => delivery.failing);
  const stuck = claimed.some((delivery) => delivery.stuck);
  const now = {
    ...before,
    accountId: claimed[0]?.accountId ?? before.accountId,
    inFlight: inFlightNow,
    idle: false,
    reachedLimit: rowsRead >= (fails ? Math.min(before.claimLimit, LIMITS.failing) : before.claimLimit),
    hung: false,
    servedAtMs,
  };
  if (fails) {
    return { ...now, limit: LIMITS.failing, health: 'unknown', answers: false, flightTime: NO_FLIGHT_TIME };
  }
  // Those that come back because their job or their worker was lost have not ended.
  const lapsed = claimed.filter((delivery) => delivery.leaseExpired).length;
  // The claim looked at no more rows than it was allowed: where that has shrunk, the others may be in flight still.
  const expected = Math.min(before.inFlight, before.claimLimit);
  const ended = Math.max(0, expected - inFlight - lapsed);
  const flightTime =
    lapsed > 0
      ? { ...NO_FLIGHT_TIME, shortestMs: before.flightTime.shortestMs }
      : flightTimeAfter(before.flightTime, {
          inFlight: expected,
          ended,
          elapsedMs: servedAtMs - before.servedAtMs,
          shortestGrows: expected <= LIMITS.shared,
          startedAtLimit: before.reachedLimit,
        });
  const isQuick = (flightTime.shortestMs ?? 0) <= QUICK_MS;
  const limit = Math.min(
    before.limit + GROWTH * ended,
    isQuick && othersServed ? LIMITS.shared : accountLimit,
  );
  return {
    ...now,
    limit,
    answers: before.answers || ended > 0,
    health: healthAfter(before, stuck && !answersSoon(flightTime), ended),
    flightTime,
  };
}

function healthAfter(before: WebhookState, hangs: boolean, ended: number): Health {
  // What has ended since it hung may have ended by timing out.
  if (before.health === 'unresponsive' && (before.hung || hangs)) return 'unresponsive';
  return ended > 0 ? 'healthy' : before.health;
}

function answersSoon(flightTime: FlightTime): boolean {
  return (meanFlightMs(flightTime) ?? Infinity) < SOON_MS;
}

/**
 * What is known after the scan has seen its first attempt take long. One slow answer in a hundred does not make an
 * endpoint unresponsive: parking frees the slot of that attempt.
 */
export function stateAfterStuck(before: WebhookState, nowMs: number): WebhookState {
  const answers = nowMs < before.servedAtMs + SERVED_RECENTLY_MS && answersSoon(before.flightTime);
  return answers ? before : { ...before, health: 'unresponsive', hung: true };
}
