export { LimiterTimeoutError } from './fail-closed.ts';
export { createPostgresRateLimiter } from './postgres-rate-limiter.ts';
export type { PostgresRateLimiterOptions, Query } from './postgres-rate-limiter.ts';
export { createRedisRateLimiter } from './redis-rate-limiter.ts';
export type { RedisRateLimiterOptions } from './redis-rate-limiter.ts';
