/**
 * How long deliveries of a webhook are in flight, by Little's law: in flight = rate × time. Averaged over windows of 32
 * endings, and no fewer than are in flight: many end together, and the shortest of shorter windows would be chance alone.
 */
export interface FlightTime {
  /** The shortest mean of a window, in milliseconds; null before the first window has ended. */
  readonly shortestMs: number | null;
  /** The mean of the last window, in milliseconds; null while it is unknown. */
  readonly latestMs: number | null;
  /** In flight, summed up over the milliseconds of this window, and how many have ended in it. */
  readonly inFlightMs: number;
  readonly ended: number;
}

export interface FlightSample {
  /** In flight when the time began. */
  readonly inFlight: number;
  readonly ended: number;
  readonly elapsedMs: number;
  /**
   * False: so much is in flight that it queues in the worker. Then a long time says nothing of the endpoint, and what is known
   * of it stays.
   */
  readonly shortestGrows: boolean;
  /** When the time began, as many were in flight as may be. After a long time they have just ended: else more were claimed. */
  readonly startedAtLimit: boolean;
}

const WINDOW_ENDED = 32;
/** After a longer pause nobody knows when deliveries ended, unless it was full: the window begins anew. */
const SAMPLE_MS_MAX = 2_000;
/**
 * A longer time counts as this long, the default of `DELIVERY_TIMEOUT_MS`: no attempt takes longer. The rest of it says that
 * this relay stalled, or that another one served the webhook.
 */
const ELAPSED_MS_MAX = 10_000;
/** The shortest mean doubles in this time: 5 ms have become 100 after 17 s of an endpoint that has become slower. */
const DOUBLES_AFTER_MS = 4_000;

export const NO_FLIGHT_TIME: FlightTime = { shortestMs: null, latestMs: null, inFlightMs: 0, ended: 0 };

/** The mean time in flight, in milliseconds. What has not ended yet counts: an endpoint that hangs ends nothing. */
export function meanFlightMs({ latestMs, inFlightMs, ended }: FlightTime): number | null {
  return latestMs === null ? null : Math.max(latestMs, inFlightMs / Math.max(WINDOW_ENDED, ended));
}

export function flightTimeAfter(
  before: FlightTime,
  { inFlight, ended, elapsedMs: passedMs, shortestGrows, startedAtLimit }: FlightSample,
): FlightTime {
  if (passedMs > SAMPLE_MS_MAX && !startedAtLimit)
    return { ...NO_FLIGHT_TIME, shortestMs: before.shortestMs };
  const elapsedMs = Math.min(passedMs, ELAPSED_MS_MAX);
  const growth = shortestGrows ? 2 ** (elapsedMs / DOUBLES_AFTER_MS) : 1;
  const shortestMs = before.shortestMs === null ? null : before.shortestMs * growth;
  const window = { inFlightMs: before.inFlightMs + inFlight * elapsedMs, ended: before.ended + ended };
  if (window.ended < Math.max(WINDOW_ENDED, inFlight))
    return { shortestMs, latestMs: before.latestMs, ...window };
  const meanMs = window.inFlightMs / window.ended;
  return { ...NO_FLIGHT_TIME, shortestMs: Math.min(shortestMs ?? meanMs, meanMs), latestMs: meanMs };
}
