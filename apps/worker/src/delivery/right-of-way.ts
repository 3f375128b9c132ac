import { isFresh } from '@postrider/domain';
import type { LoadedDelivery } from './load.ts';

/** Fresh ones were seen within this time. */
const COMPANY_MS = 2_000;

/**
 * Tells of each delivery that is taken whether it lets the fresh go first.
 *
 * @param nowMs a monotonic clock
 */
export function createRightOfWay(
  nowMs = () => performance.now(),
): (delivery: Pick<LoadedDelivery, 'lateMs' | 'attemptsMade'>) => boolean {
  let companyUntilMs = 0;

  return (delivery) => {
    const fresh = isFresh(delivery);
    if (fresh) companyUntilMs = nowMs() + COMPANY_MS;
    return !fresh && nowMs() < companyUntilMs;
  };
}
