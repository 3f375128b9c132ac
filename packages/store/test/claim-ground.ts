import type { Pool } from 'pg';
import { createPool } from '../src/db/pool.ts';
import type { ClaimLimits, LeasedDelivery, WebhookClaim } from '../src/deliveries/delivery-outbox.ts';

/** Room for all that a test has outstanding. */
export const CLAIM_LIMITS: ClaimLimits = {
  lookAheadSeconds: 60,
  fastRowsMax: 1000,
  slowRowsMax: 1000,
  earlyRowsMax: 1000,
  failingLimit: 4,
  leaseSeconds: 30,
  stuckAfterSeconds: 1,
};

/** The deliveries that a claim leased, of all webhooks. */
export function leasedBy(claims: readonly WebhookClaim[]): LeasedDelivery[] {
  return claims.flatMap(({ leased }) => leased);
}

/** A pool like the relay's for its leases. */
export function openLeasePool(databaseUrl: string, size = 8): Pool {
  return createPool({
    databaseUrl,
    size,
    applicationName: 'outbox-test',
    durableCommits: false,
    onError: () => undefined,
  });
}
