import type { LoadedDelivery } from './load.ts';

/** Late: due for longer than this when it was taken. It waited behind others of its webhook, or for a service that was down. */
const LATE_MS = 500;
/** Fresh ones were seen within this time. */
const COMPANY_MS = 2_000;

/**
 * Tells of each delivery that is taken whether it lets others go first. Fresh are first attempts that are not late: they
 * need little, and would else wait behind a backlog that is not theirs. A retry has waited for half a minute or more.
 *
 * @param nowMs a monotonic clock
 */
export function createRightOfWay(
  nowMs = () => performance.now(),
): (delivery: Pick<LoadedDelivery, 'lateMs' | 'attemptsMade'>) => boolean {
  let companyUntilMs = 0;

  return ({ lateMs, attemptsMade }) => {
    const isFresh = attemptsMade === 0 && lateMs <= LATE_MS;
    if (isFresh) companyUntilMs = nowMs() + COMPANY_MS;
    return !isFresh && nowMs() < companyUntilMs;
  };
}
