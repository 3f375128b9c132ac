/** How one process divides its Postgres connections between its kinds of session. */
interface ConnectionShares {
  /** Durable commits: requests, outcomes, received mail, actions in the console. */
  readonly stores: number;
  /** The part of `stores` that requests may use at once. The rest stays free for the other work. */
  readonly requests: number;
  /** Look-ups of API keys. */
  readonly keys: number;
  /** The rate limiter; 0 when it uses Redis. */
  readonly limiter: number;
  /** The relay's claims and sweeps, and the worker's takes. */
  readonly leases: number;
  /** The relay's other passes: mail, counts, housekeeping. */
  readonly counts: number;
  /** Pages of the console. */
  readonly reads: number;
}

/** The relay's claim, its sweep and the worker's take run at the same time, one statement each. */
const LEASES = 3;
/** A slow clean-up leaves one connection to the relay's other passes. */
const COUNTS = 2;
/** A slow page leaves one connection to other pages. */
const READS = 2;
/** One each for: outcomes of deliveries, outcomes of mail, a received message. */
const KEPT_FROM_REQUESTS = 3;

/**
 * Each share has at least one connection, except the limiter with Redis. With a small pool, fewer than
 * `KEPT_FROM_REQUESTS` stay free from requests. Wake-ups, the relay's lock and the worker's lock use one
 * further connection each, outside `poolSize`. At the default of 20, keys and limiter get two connections
 * each, as in a separate API.
 *
 * @param poolSize at least `SHARED_POOL_MIN`. The shares add up to it, without `requests`.
 */
export function connectionShares(poolSize: number, limiterIsInPostgres: boolean): ConnectionShares {
  const limiter = limiterIsInPostgres ? Math.max(1, Math.floor(poolSize / 10)) : 0;
  const keys = Math.max(1, Math.floor(poolSize / 10));
  const stores = poolSize - LEASES - COUNTS - READS - limiter - keys;
  const requests = Math.max(1, stores - KEPT_FROM_REQUESTS);
  return { stores, requests, keys, limiter, leases: LEASES, counts: COUNTS, reads: READS };
}
