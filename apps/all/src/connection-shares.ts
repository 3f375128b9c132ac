/** How one process divides its Postgres connections between its kinds of session. */
export interface ConnectionShares {
  readonly stores: number;
  /** The part of `stores` that requests may take. The others record outcomes, received mail and actions. */
  readonly requests: number;
  readonly keys: number;
  readonly limiter: number;
  readonly leases: number;
  readonly counts: number;
  readonly reads: number;
}

/** Claims and takes are a statement each, and batches run one at a time. */
const LEASES = 3;
const COUNTS = 2;
const READS = 2;
/** Outcomes of deliveries and of mail, and a received message. */
const OTHERS_THAN_REQUESTS = 3;

/**
 * Each share has at least one connection, but the limiter has none when it uses Redis. Wake-ups, the relay's
 * lock and the worker's use one more each.
 *
 * Limiter and keys get two connections each of the default size 20. In `apps/api` they get two each of 10.
 *
 * @param poolSize at least `SHARED_POOL_MIN`. The shares add up to it.
 */
export function connectionShares(poolSize: number, limiterIsInPostgres: boolean): ConnectionShares {
  const limiter = limiterIsInPostgres ? Math.max(1, Math.floor(poolSize / 10)) : 0;
  const keys = Math.max(1, Math.floor(poolSize / 10));
  const stores = poolSize - LEASES - COUNTS - READS - limiter - keys;
  const requests = Math.max(1, stores - OTHERS_THAN_REQUESTS);
  return { stores, requests, keys, limiter, leases: LEASES, counts: COUNTS, reads: READS };
}
