import { performance } from 'node:perf_hooks';
import { setImmediate as breath, setTimeout as delay } from 'node:timers/promises';

/** A share of the event loop's time, from 0 to 1. */
export interface LoopMeter {
  /** How busy it has been since the last `reset`. */
  busyShare(): number;
  reset(): void;
}

export interface SpareTimeOptions {
  /** Everybody who waits has a turn as often as this, however busy the event loop is. */
  readonly everyMs: number;
  readonly meter?: LoopMeter;
  /** A pause in which the event loop does what else there is to do. */
  readonly rest?: () => Promise<unknown>;
  /** A monotonic clock. */
  readonly nowMs?: () => number;
}

/** One is let through when, since the one before it, the event loop has been idle for half of the time. */
const BUSY_SHARE_MAX = 0.5;
/** However many are due, after so many the event loop does something else. */
const AT_ONCE_MAX = 8;
/** Turns that somebody missed while the event loop was held are made up for, over so much time. */
const MADE_UP_FOR_MS = 10;

interface Line {
  readonly letThrough: (() => void)[];
  dueMs: number;
}

/**
 * Lets work through one by one, each when the event loop can spare the time: what costs much and comes in bursts, like
 * hundreds of TLS handshakes with endpoints that all ran out of time together, or a backlog, so stays out of the way of the
 * rest.
 *
 * @returns resolves when it is the turn of what was asked for, in somebody's name. Names have their turns round robin; in
 * one name the first to ask is the first to go.
 */
export function createSpareTime(options: SpareTimeOptions): (name: string) => Promise<void> {
  const {
    everyMs,
    meter = eventLoopMeter(),
    rest = () => delay(1),
    nowMs = () => performance.now(),
  } = options;
  /** Who was served least lately is first. */
  const lines = new Map<string, Line>();
  let serving = false;

  async function serve(): Promise<void> {
    serving = true;
    for (let served = 0; lines.size > 0;) {
      const next = lineToServe();
      if (next === null) {
        await rest();
        served = 0;
      } else {
        serveOne(...next);
        served += 1;
        if (served % AT_ONCE_MAX === 0) await breath();
      }
    }
    serving = false;
  }

  /** Of those whose turn is due who was served least lately; or, where there is time to spare, of all. */
  function lineToServe(): [string, Line] | null {
    const now = nowMs();
    for (const entry of lines) if (entry[1].dueMs <= now) return entry;
    const [first] = lines;
    return first !== undefined && meter.busyShare() <= BUSY_SHARE_MAX ? first : null;
  }

  function serveOne(name: string, { letThrough, dueMs }: Line): void {
    letThrough.shift()?.();
    meter.reset();
    lines.delete(name); // to the end: the map's order is the order of turns
    if (letThrough.length === 0) return;
    lines.set(name, { letThrough, dueMs: Math.max(dueMs, nowMs() - MADE_UP_FOR_MS) + everyMs });
  }

  return (name) =>
    new Promise((resolve) => {
      const line = lines.get(name);
      if (line === undefined) lines.set(name, { letThrough: [resolve], dueMs: nowMs() + everyMs });
      else line.letThrough.push(resolve);
      if (!serving) void serve();
    });
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
