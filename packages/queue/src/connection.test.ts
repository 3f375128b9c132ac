import { expect, test } from '@jest/globals';
import { CLOSED_PORT } from '@postrider/testing';
import { connectRedis } from './connection.ts';

/** `watchRedis` counts an error for this long. With longer pauses, an outage would seem to end between two. */
const ERROR_COUNTS_FOR_MS = 5_000;

test.each(['producer', 'consumer'] as const)(
  'a %s tries to connect often enough for the watch of Redis, however long Redis is away',
  (role) => {
    const redis = connectRedis(`redis://127.0.0.1:${CLOSED_PORT}`, role, () => undefined);
    redis.disconnect();
    expect(redis.options.retryStrategy?.(1_000)).toBeLessThan(ERROR_COUNTS_FOR_MS);
  },
);
