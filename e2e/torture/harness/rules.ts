import type { Rules } from './checker/history.ts';
import { TIMES } from './times.ts';

/**
 * The limit of the p99 of healthy endpoints beside trouble, divided by their p99 before it. Behind a flood of
 * 200,000 in one queue they would wait thousands of times longer. Thousands of new dead endpoints cost up to
 * sixty times on two busy cores. The benchmark measures on quiet cores.
 */
export const NEIGHBOUR_RATIO_MAX = 150;
/** Recovery takes at most these leases and a poll. The margin is for two cores to work off the backlog. */
export const RECOVERY_LEASES_MAX = 2;
export const RECOVERY_MARGIN_MS = 10_000;

/** The bounds that the checker knows. */
export function rulesFor({
  leaseSeconds,
  signatureOffMs,
}: {
  readonly leaseSeconds: number;
  readonly signatureOffMs: number;
}): Rules {
  return {
    retryDelaysMs: TIMES.retryDelaysMs,
    earlyToleranceMs: 50,
    signedWithinMs: TIMES.attemptTimeoutMs + 1_000 + signatureOffMs,
    afterRemovalMs: TIMES.attemptTimeoutMs + 1_000,
    recoveryMsMax: RECOVERY_LEASES_MAX * leaseSeconds * 1_000 + TIMES.pollMs + RECOVERY_MARGIN_MS,
    neighbourRatioMax: NEIGHBOUR_RATIO_MAX,
  };
}
