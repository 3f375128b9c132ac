import type { AccountId } from '@postrider/domain';
import type { ClaimedDelivery } from '@postrider/store';
import { flightTimeAfter, meanFlightMs, NO_FLIGHT_TIME } from './flight-time.ts';
import type { FlightTime } from './flight-time.ts';

/**
 * How many deliveries of a webhook may be in flight. A webhook starts at `first`. Its limit grows by two per
 * ended delivery (8, 24, 72, 216), like TCP's slow start. It falls to `failing` when the endpoint fails. An
 * endpoint that answers is bounded only by its account's limit, because a waiting attempt costs a socket, not
 * a processor. A quick endpoint is busy with `shared` in flight. It gets no more while other webhooks are
 * served, because they would wait behind it.
 */
export const LIMITS = { first: 8, shared: 48, failing: 4 } as const;

/** Growth of the limit per ended delivery. An endpoint that takes 4 s has 72 in flight after 8 s. */
const GROWTH = 2;

/**
 * An endpoint is quick when its deliveries are in flight no longer than this. With 48 in flight it gets 480
 * deliveries per second.
 */
const QUICK_MS = 100;
/** An endpoint with a shorter mean answers soon, although some answers may take seconds. */
const SOON_MS = 500;
/** After a longer time without a claim, the relay does not know whether the endpoint still answers. */
const SERVED_RECENTLY_MS = 1_000;

/**
 * Healthy: deliveries ended since the endpoint last failed or hung. Unresponsive: the endpoint was last seen
 * to hang. Attempts that time out end, too, so their end does not make it healthy.
 */
export type Health = 'healthy' | 'unknown' | 'unresponsive';

/** The relay's knowledge about one webhook. */
export interface WebhookState {
  /** Null until the first claim that got a delivery. */
  readonly accountId: AccountId | null;
  /** The webhook's own limit. The account's limit applies as well. */
  readonly limit: number;
  /** The limit that the last claim used. */
  readonly claimLimit: number;
  /** Deliveries in flight after the last claim, from this relay's view. */
  readonly inFlight: number;
  /** A scan after the last claim found nothing in flight. */
  readonly idle: boolean;
  /** The last claim read as many rows as the limit allows. More may be due behind them. */
  readonly reachedLimit: boolean;
  readonly health: Health;
  /** Deliveries ended since the endpoint last failed, even if each took long. */
  readonly answers: boolean;
  /** A scan found it hanging after the last claim. */
  readonly hung: boolean;
  /** Number of the claim that last served the webhook. Claims count from 1. */
  readonly lastClaim: number;
  /** The time when that claim ended. */
  readonly servedAtMs: number;
  readonly flightTime: FlightTime;
}

/** State of a webhook that the relay has not served yet. */
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
  /** The relay also serves other webhooks. */
  readonly othersServed: boolean;
  readonly accountLimit: number;
}

/** The state after a claim. @param claimed the claim's deliveries for this webhook, at least one */
export function stateAfterClaim(
  before: WebhookState,
  claimed: readonly ClaimedDelivery[],
  { servedAtMs, othersServed, accountLimit }: ClaimContext,
): Omit<WebhookState, 'lastClaim'> {
  const inFlight = Math.max(...claimed.map((delivery) => delivery.inFlight));
  // Delayed jobs do not count: they occupy no slot, and their end would say nothing about the endpoint.
  const inFlightNow = inFlight + claimed.filter((delivery) => delivery.delayMs === 0).length;
  // Rows read, not rows leased: when two relays claim together, each gets a part.
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
  // When a lease expired, the delivery has not ended: its job or its worker was lost.
  const lapsed = claimed.filter((delivery) => delivery.leaseExpired).length;
  // The claim read no more rows than its limit. If the limit fell, further deliveries may be in flight.
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
  // Attempts that ended since may have timed out.
  if (before.health === 'unresponsive' && (before.hung || hangs)) return 'unresponsive';
  return ended > 0 ? 'healthy' : before.health;
}

function answersSoon(flightTime: FlightTime): boolean {
  return (meanFlightMs(flightTime) ?? Infinity) < SOON_MS;
}

/**
 * The state after two scans found the first attempt stuck. One slow answer in a hundred does not make an
 * endpoint unresponsive, because parking frees its slot.
 */
export function stateAfterStuck(before: WebhookState, nowMs: number): WebhookState {
  const answers = nowMs < before.servedAtMs + SERVED_RECENTLY_MS && answersSoon(before.flightTime);
  return answers ? before : { ...before, health: 'unresponsive', hung: true };
}
