import { expect, test } from '@jest/globals';
import { createLogger, createMetrics } from '@postrider/runtime';
import { createTestDatabase } from '@postrider/testing';
import { createLimiter } from './limiter.ts';

test('once started, the limiter in Postgres has a connection for the first charge', async () => {
  const database = await createTestDatabase();
  const limiter = createLimiter({
    redisUrl: undefined,
    postgres: {
      databaseUrl: database.url,
      size: 2,
      applicationName: 'limiter-test',
      onError: () => undefined,
    },
    logger: createLogger({ level: 'error', service: 'api' }),
    metrics: createMetrics('api', { processMetrics: false }),
  });
  try {
    await limiter.start();
    const opened = await database.query(
      "select from pg_stat_activity where datname = current_database() and application_name = 'limiter-test'",
    );
    expect(opened).toHaveLength(1);
  } finally {
    await limiter.stop();
    await database.drop();
  }
});
