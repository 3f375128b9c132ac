import type { Clock } from '@postrider/domain';

/** A clock that stands still until it is told otherwise. */
export interface FakeClock extends Clock {
  /** Moves the clock; a negative number moves it back. */
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
