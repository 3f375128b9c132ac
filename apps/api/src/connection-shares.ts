/**
 * Divides the API's Postgres connections: `ApiConnections` says what each share is for. The wake-ups use one
 * more connection. Each share has at least one, but the limiter has none when it uses Redis.
 *
 * Limiter and keys get two connections each of the default size 10. In `apps/all` they get two each of 20.
 */
export function connectionShares(poolSize: number, limiterIsInPostgres: boolean) {
  const limiter = limiterIsInPostgres ? Math.max(1, Math.floor(poolSize / 4)) : 0;
  const keys = Math.max(1, Math.floor(poolSize / 5));
  return { stores: Math.max(1, poolSize - limiter - keys - 1), limiter, keys };
}
