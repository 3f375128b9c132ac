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
  /** So often everybody who waits has a turn, however busy the loop is; without it they share one in ten milliseconds. */
  readonly everyMs?: number;
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
 * @returns resolves when it is the turn of what was asked for, in somebody's name; the first to ask is the first to go.
 */
export function createSpareTime(options: SpareTimeOptions = {}): (name: string) => Promise<void> {
  const { meter = eventLoopMeter(), rest = () => delay(1), everyMs = Infinity } = options;
  let last = Promise.resolve();
  const waiting = new Map<string, number>();

  async function turn(name: string): Promise<void> {
    const restsMax = Math.min(RESTS_MAX, everyMs / waiting.size);
    for (let rests = 0; meter.busyShare() > BUSY_SHARE_MAX && rests < restsMax; rests += 1) await rest();
    meter.reset();
    const left = (waiting.get(name) ?? 1) - 1;
    if (left === 0) waiting.delete(name);
    else waiting.set(name, left);
  }

  return (name) => {
    waiting.set(name, (waiting.get(name) ?? 0) + 1);
    last = last.then(() => turn(name));
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
