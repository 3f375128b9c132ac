/** How the API divides its Postgres connections. */
export interface ConnectionShares {
  readonly stores: number;
  /** A charge has 250 ms. Its own connections keep it from waiting behind the statements of requests. */
  readonly limiter: number;
  /** Authentication has its own connections, so the work of accounts cannot block it. */
  readonly keys: number;
}

/** The wake-ups use one more connection. Each share has at least one connection. */
export function connectionShares(poolSize: number, limiterIsInPostgres: boolean): ConnectionShares {
  const limiter = limiterIsInPostgres ? Math.max(1, Math.floor(poolSize / 4)) : 0;
  const keys = Math.max(1, Math.floor(poolSize / 5));
  return { stores: Math.max(1, poolSize - limiter - keys - 1), limiter, keys };
}
