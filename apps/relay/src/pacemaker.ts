import { within } from '@postrider/runtime';
import type { Logger } from '@postrider/runtime';

/** Runs a turn again and again: when it asks to, when it is woken, and at the latest after its longest pause. */
export interface Pacemaker {
  start(): void;
  /** Asks for a turn at once, or right after the one that is under way. */
  wake(): void;
  /** Resolves when the turn under way has ended, or, where it hangs on a database that is silent, after 5 s. */
  stop(): Promise<void>;
}

export interface PacemakerOptions {
  /** For the log. */
  readonly name: string;
  /** Resolves to the pause before the next turn, in milliseconds. */
  readonly turn: () => Promise<number>;
  /** After a turn that failed: the database or the queue is away, or too busy, and hammering it would not help. */
  readonly pauseAfterErrorMs: number;
  readonly logger: Logger;
}

const STOP_TIMEOUT_MS = 5_000;

export function createPacemaker({ name, turn, pauseAfterErrorMs, logger }: PacemakerOptions): Pacemaker {
  let stopped = true;
  let woken = false;
  let endPause: (() => void) | null = null;
  let ended: Promise<void> = Promise.resolve();
  let failing = false;

  async function oneTurn(): Promise<number> {
    try {
      const pauseMs = await turn();
      if (failing) logger.info('pass recovered', { pass: name });
      failing = false;
      return pauseMs;
    } catch (error) {
      // Once per outage at warn: the passes after it would say the same.
      if (failing) logger.debug('pass failed again', { pass: name, error });
      else logger.warn('pass failed', { pass: name, error });
      failing = true;
      return pauseAfterErrorMs;
    }
  }

  async function pause(pauseMs: number): Promise<void> {
    if ((woken && !failing) || stopped) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pauseMs);
      endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    endPause = null;
  }

  async function beat(): Promise<void> {
    while (!isStopped()) {
      woken = false;
      await pause(await oneTurn());
    }
  }

  // A function, because what changes between two awaits is invisible to the type checker's narrowing.
  const isStopped = (): boolean => stopped;

  return {
    start() {
      stopped = false;
      ended = beat();
    },
    wake() {
      woken = true;
      // Not while the last turn failed: its pause is there to be kept.
      if (!failing) endPause?.();
    },
    async stop() {
      stopped = true;
      endPause?.();
      await within(
        () => ended,
        STOP_TIMEOUT_MS,
        () => undefined,
      );
    },
  };
}
