import type { Clock } from '@postrider/domain';

/** The machine's clock. Tests pass another one. */
export const systemClock: Clock = { now: () => new Date() };
