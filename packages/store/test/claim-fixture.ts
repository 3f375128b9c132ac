import { createRows, setup, setupDatabase } from '@postrider/testing';
import type { Rows, TestDatabase } from '@postrider/testing';
import type { Pool } from 'pg';
import { createPool } from '../src/db/pool.ts';
import type { WebhookId } from '@postrider/domain';
import { createDeliveryOutbox } from '../src/deliveries/delivery-outbox.ts';
import type {
  ClaimLimits,
  ClaimRequest,
  DeliveryOutbox,
  LeasedDelivery,
  WebhookReport,
} from '../src/deliveries/delivery-outbox.ts';

/** Room for all that a test has outstanding. */
export const CLAIM_LIMITS: ClaimLimits = {
  lookAheadSeconds: 60,
  fastRowsMax: 1000,
  slowRowsMax: 1000,
  delayedRowsMax: 1000,
  leaseSeconds: 30,
  stuckAfterSeconds: 1,
  deadWorkers: [],
};

/** The same as values $8 to $15 of the statement. */
export const CLAIM_LIMIT_VALUES = [60, 1000, 1000, 1000, 30, 1, [], '-infinity'] as const;

/** Asks for deliveries of a webhook of which the caller knows nothing else. */
export function requestFor(webhookId: WebhookId, limit = 8, more: Partial<ClaimRequest> = {}): ClaimRequest {
  const unknown = { slow: false, accountInFlight: 0, lowWaterMark: null };
  return { webhookId, limit, rowsToRead: limit, ...unknown, ...more };
}

/** The deliveries that a claim leased, of all webhooks. */
export function leasedBy(claims: readonly WebhookReport[]): LeasedDelivery[] {
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

/** Registers hooks: a database for the test file, empty before each test, and a pool of leases with its outbox. */
export function setupLeases(size?: number): {
  database: TestDatabase;
  rows: Rows;
  leases: { readonly pool: Pool; readonly outbox: DeliveryOutbox };
} {
  const database = setupDatabase();
  const leases = setup(
    async () => {
      const pool = openLeasePool(database.url, size);
      return { pool, outbox: createDeliveryOutbox(pool) };
    },
    ({ pool }) => pool.end(),
  );
  return { database, rows: createRows(database), leases };
}
