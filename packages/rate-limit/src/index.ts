export { createPostgresRateLimiter } from './postgres-rate-limiter.ts';
export { createRedisRateLimiter } from './redis-rate-limiter.ts';
