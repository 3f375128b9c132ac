import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedisServer, startPostgres, startRedis } from '@postrider/embedded';
import { ADMIN_URL_KEY, published, REDIS_URL_KEY, TEMPLATE_KEY } from '../environment.ts';
import { keepRunning, stopAll } from './running.ts';
import { createTemplate, dropTemplate } from './template.ts';

/**
 * Starts what the tests need before the first of them: a throw-away Postgres with a migrated template database, and a
 * Redis when a server is on PATH. TEST_DATABASE_URL (of a role that may create databases) and TEST_REDIS_URL take
 * their place; the application's own DATABASE_URL and REDIS_URL are never touched. A killed Jest takes the servers
 * with it.
 */
export default async function globalSetup(): Promise<void> {
  const results = await Promise.allSettled([supplyPostgres(), supplyRedis()]);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed === undefined) return;
  await stopAll(); // Jest runs no teardown after a failed setup
  throw failed.reason;
}

async function supplyPostgres(): Promise<void> {
  const given = published('TEST_DATABASE_URL');
  const template = given === undefined ? 'postrider_template' : `postrider_template_${process.pid}`;
  const url = given ?? (await throwAwayPostgres());
  if (given !== undefined) keepRunning({ stop: () => dropTemplate(given, template) });
  await createTemplate(url, template);
  process.env[ADMIN_URL_KEY] = url;
  process.env[TEMPLATE_KEY] = template;
}

async function throwAwayPostgres(): Promise<string> {
  const dataDir = join(tmpdir(), `postrider-test-${randomBytes(6).toString('hex')}`);
  const postgres = await startPostgres({ dataDir, durable: false, throwAway: true });
  keepRunning(postgres);
  return postgres.url;
}

async function supplyRedis(): Promise<void> {
  const given = published('TEST_REDIS_URL');
  if (given !== undefined) {
    process.env[REDIS_URL_KEY] = given;
  } else if (findRedisServer() !== null) {
    const redis = await startRedis();
    keepRunning(redis);
    process.env[REDIS_URL_KEY] = redis.url;
  }
}
