import type { Clock } from '@postrider/domain';

export const systemClock: Clock = { now: () => new Date() };

/** A clock that stands still until a test moves it. */
export interface FakeClock extends Clock {
  /** Moves the clock. A negative number moves it back. */
  advance(ms: number): void;
  set(time: Date): void;
}

export function fakeClock(start: Date | string = '2026-01-01T00:00:00.000Z'): FakeClock {
  let nowMs = new Date(start).getTime();
  return {
    now: () => new Date(nowMs),
    advance: (ms) => void (nowMs += ms),
    set: (time) => void (nowMs = time.getTime()),
  };
}
