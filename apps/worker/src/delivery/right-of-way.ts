import type { LoadedDelivery } from './load.ts';

/** Late: due for longer than this when it was taken. It waited behind others of its webhook, or for a service that was down. */
const LATE_MS = 500;
/** What was seen within this time counts. */
const RECENT_MS = 2_000;

/**
 * Tells of each delivery that is taken whether it lets others go first. Late ones do while there are fresh ones: the fresh
 * need little, and would wait behind a backlog that is not theirs. One that is less than half as late as another does
 * not: it is one of those that the other holds up.
 *
 * @param nowMs a monotonic clock
 */
export function createRightOfWay(
  nowMs = () => performance.now(),
): (delivery: Pick<LoadedDelivery, 'lateMs'>) => boolean {
  let fresh = { untilMs: 0 };
  let latest = { lateMs: 0, untilMs: 0 };

  return ({ lateMs }) => {
    const now = nowMs();
    const untilMs = now + RECENT_MS;
    if (lateMs <= LATE_MS) {
      fresh = { untilMs };
      return false;
    }
    if (lateMs >= latest.lateMs || now >= latest.untilMs) latest = { lateMs, untilMs };
    return now < fresh.untilMs && 2 * lateMs >= latest.lateMs;
  };
}
