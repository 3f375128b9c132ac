import type { LoadedDelivery } from './load.ts';

/** Late: due for longer than this when it was taken. It waited behind others of its webhook, or for a service that was down. */
const LATE_MS = 500;
/** Fresh ones were seen within this time. */
const COMPANY_MS = 2_000;

/**
 * Tells of each delivery that is taken whether it lets others go first: late ones do while there are fresh ones, which
 * need little, and would wait behind a backlog that is not theirs.
 *
 * @param nowMs a monotonic clock
 */
export function createRightOfWay(
  nowMs = () => performance.now(),
): (delivery: Pick<LoadedDelivery, 'lateMs'>) => boolean {
  let companyUntilMs = 0;

  return ({ lateMs }) => {
    const isLate = lateMs > LATE_MS;
    if (!isLate) companyUntilMs = nowMs() + COMPANY_MS;
    return isLate && nowMs() < companyUntilMs;
  };
}
