/**
 * Divides the API's Postgres connections: `ApiConnections` says what each share is for. One connection of the
 * pool size is for wake-ups. Each share has at least one connection, but the limiter has none when it uses
 * Redis.
 *
 * With the default size of 10, the limiter and the keys get two connections each.
 */
export function connectionShares(poolSize: number, limiterIsInPostgres: boolean) {
  const limiter = limiterIsInPostgres ? Math.max(1, Math.floor(poolSize / 4)) : 0;
  const keys = Math.max(1, Math.floor(poolSize / 5));
  return { stores: Math.max(1, poolSize - limiter - keys - 1), limiter, keys };
}
