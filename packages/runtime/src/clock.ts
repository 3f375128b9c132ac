/** Gives the time. The domain's `Clock` has the same shape. */
export interface Clock {
  now(): Date;
}

/** The machine's clock. Tests pass another one. */
export const systemClock: Clock = { now: () => new Date() };
