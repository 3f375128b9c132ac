import { describe } from '@jest/globals';
import { describeWithout } from './describe-without.ts';
import { published, REDIS_URL_KEY } from './environment.ts';

/** The URL of the tests' Redis, or the reason why there is none. */
export type RedisForTests = { url: string; skip?: never } | { skip: string; url?: never };

/** The Redis that the global setup has started or got. */
export function redisForTests(): RedisForTests {
  const url = published(REDIS_URL_KEY);
  return url === undefined
    ? { skip: 'no redis-server or valkey-server on PATH, and TEST_REDIS_URL is not set' }
    : { url };
}

/**
 * A `describe` that needs Redis. Without Redis it is skipped with the reason in its title. With
 * REQUIRE_REDIS=1, as in CI, it fails instead.
 */
export function describeWithRedis(title: string, define: (url: string) => void): void {
  const { url, skip } = redisForTests();
  if (url !== undefined) describe(title, () => define(url));
  else describeWithout(title, 'REQUIRE_REDIS', skip, () => define('redis://127.0.0.1:0'));
}
