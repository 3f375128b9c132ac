import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';

/** A share of the event loop's time, from 0 to 1. */
export interface LoopMeter {
  /** How busy it has been since the last `reset`. */
  busyShare(): number;
  reset(): void;
}

export interface SpareTimeOptions {
  readonly meter?: LoopMeter;
  /** A pause in which the event loop does what else there is to do. */
  readonly rest?: () => Promise<unknown>;
  /** About so long anybody waits, however busy the loop is and however many ask; without it as long as it takes. */
  readonly waitMaxMs?: number;
  /** A monotonic clock. */
  readonly nowMs?: () => number;
}

/** One is let through when, since the one before it, the event loop has been idle for half of the time. */
const BUSY_SHARE_MAX = 0.5;
/** After so many rests of a millisecond one is let through even if the loop is never idle. */
const RESTS_MAX = 10;

/**
 * Lets work through one by one, each when the event loop can spare the time: what costs much and comes in bursts, like
 * hundreds of TLS handshakes with endpoints that all ran out of time together, or a backlog, so stays out of the way of the
 * rest.
 *
 * @returns resolves when it is the caller's turn, or it has waited for long enough; the first to ask is the first to go.
 */
export function createSpareTime(options: SpareTimeOptions = {}): () => Promise<void> {
  const { meter = eventLoopMeter(), rest = () => delay(1) } = options;
  const { waitMaxMs = Infinity, nowMs = () => performance.now() } = options;
  let last = Promise.resolve();
  let waiting = 0;

  /** Rests for its share of the time that is left for all that wait. */
  async function turn(askedAtMs: number): Promise<void> {
    const restsMax = Math.min(RESTS_MAX, (askedAtMs + waitMaxMs - nowMs()) / waiting);
    for (let rests = 0; meter.busyShare() > BUSY_SHARE_MAX && rests < restsMax; rests += 1) await rest();
    meter.reset();
    waiting -= 1;
  }

  return () => {
    const askedAtMs = nowMs();
    waiting += 1;
    last = last.then(() => turn(askedAtMs));
    return last;
  };
}

function eventLoopMeter(): LoopMeter {
  let since = performance.eventLoopUtilization();
  return {
    busyShare: () => performance.eventLoopUtilization(since).utilization,
    reset() {
      since = performance.eventLoopUtilization();
    },
  };
}
