import { DELIVERY_TIMEOUT_DEFAULT_MS } from '@postrider/runtime';

/**
 * How long deliveries of a webhook are in flight, by Little's law: in flight = rate × time. Each mean covers
 * a window of at least 32 ended deliveries, and at least as many as are in flight. Many deliveries end
 * together, so the shortest mean of smaller windows would be chance.
 */
export interface FlightTime {
  /** Shortest mean of a window, in milliseconds. Null before the first window has ended. */
  readonly shortestMs: number | null;
  /** Mean of the last window, in milliseconds. Null while unknown. */
  readonly latestMs: number | null;
  /** Deliveries in flight × milliseconds in this window. */
  readonly inFlightMs: number;
  readonly ended: number;
}

export interface FlightSample {
  /** Deliveries in flight when the time began. */
  readonly inFlight: number;
  readonly ended: number;
  readonly elapsedMs: number;
  /**
   * False: so many are in flight that they queue in the worker. A long time then says nothing about the
   * endpoint, so the shortest mean stays.
   */
  readonly shortestGrows: boolean;
  /**
   * The webhook was at its limit when the time began. Then deliveries ended just now, even after a long time:
   * otherwise the relay would have claimed more.
   */
  readonly startedAtLimit: boolean;
}

const WINDOW_ENDED = 32;
/**
 * After a longer pause the relay does not know when deliveries ended, unless the webhook was at its limit. A
 * new window begins.
 */
const SAMPLE_MS_MAX = 2_000;
/**
 * The shortest mean doubles in this time. If a 5 ms endpoint becomes slower, its mean exceeds 100 ms after 17
 * s.
 */
const DOUBLES_AFTER_MS = 4_000;

export const NO_FLIGHT_TIME: FlightTime = { shortestMs: null, latestMs: null, inFlightMs: 0, ended: 0 };

/**
 * Mean time in flight, in milliseconds. It counts deliveries that have not ended, because a hanging endpoint
 * ends none.
 */
export function meanFlightMs({ latestMs, inFlightMs, ended }: FlightTime): number | null {
  return latestMs === null ? null : Math.max(latestMs, inFlightMs / Math.max(WINDOW_ENDED, ended));
}

export function flightTimeAfter(
  before: FlightTime,
  { inFlight, ended, elapsedMs: passedMs, shortestGrows, startedAtLimit }: FlightSample,
): FlightTime {
  if (passedMs > SAMPLE_MS_MAX && !startedAtLimit)
    return { ...NO_FLIGHT_TIME, shortestMs: before.shortestMs };
  // A longer time is no attempt: this relay stalled, or another one served the webhook. If the operator
  // allows longer attempts, this much still shows that the endpoint is slow.
  const elapsedMs = Math.min(passedMs, DELIVERY_TIMEOUT_DEFAULT_MS);
  const growth = shortestGrows ? 2 ** (elapsedMs / DOUBLES_AFTER_MS) : 1;
  const shortestMs = before.shortestMs === null ? null : before.shortestMs * growth;
  const window = { inFlightMs: before.inFlightMs + inFlight * elapsedMs, ended: before.ended + ended };
  if (window.ended < Math.max(WINDOW_ENDED, inFlight))
    return { shortestMs, latestMs: before.latestMs, ...window };
  const meanMs = window.inFlightMs / window.ended;
  return { ...NO_FLIGHT_TIME, shortestMs: Math.min(shortestMs ?? meanMs, meanMs), latestMs: meanMs };
}
