import { describe } from '@jest/globals';
import { describeWithout } from './describe-without.ts';
import { environmentVariable, REDIS_URL_KEY } from './environment.ts';

const NO_REDIS = 'no redis-server or valkey-server on PATH, and TEST_REDIS_URL is not set';

/** The URL of the Redis that the global setup has started or got. */
export function redisForTests(): string | undefined {
  return environmentVariable(REDIS_URL_KEY);
}

/**
 * A `describe` that needs Redis. Without Redis it is skipped with the reason in its title. With
 * REQUIRE_REDIS=1, as in CI, it fails instead.
 */
export function describeWithRedis(title: string, define: (url: string) => void): void {
  const url = redisForTests();
  if (url !== undefined) describe(title, () => define(url));
  else describeWithout(title, 'REQUIRE_REDIS', NO_REDIS, () => define('redis://127.0.0.1:0'));
}
