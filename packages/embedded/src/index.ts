export { freePort } from './free-port.ts';
export { startPostgres, type PostgresOptions, type RunningPostgres } from './postgres.ts';
export { processIdentity } from './process-state.ts';
export { findRedisServer, startRedis, type RedisOptions, type RunningRedis } from './redis.ts';
