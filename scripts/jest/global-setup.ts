import { randomBytes } from 'node:crypto';
import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedisServer, startPostgres, startRedis } from '../../packages/embedded/src/index.ts';
import { withClient } from '../../packages/testing/src/admin.ts';
import {
  ADMIN_URL_KEY,
  environmentVariable,
  REDIS_URL_KEY,
  TEMPLATE_KEY,
} from '../../packages/testing/src/environment.ts';
import { HOSTILE_SETTINGS } from '../../packages/testing/src/hostile-postgres.ts';
import { keepRunning, stopAll } from './running.ts';
import { createTemplate, dropTemplate } from './template.ts';

const MEMORY_FOLDER = '/dev/shm';
const MEMORY_BYTES_MIN = 2 * 1024 ** 3;

/**
 * Starts the servers of the tests: a throw-away Postgres with a migrated template database, and a Redis when
 * its program is on PATH. TEST_DATABASE_URL (of a role that may create databases) and TEST_REDIS_URL name
 * servers to use instead. The application's own DATABASE_URL and REDIS_URL are never used. When Jest is
 * killed, the servers end, too. A Postgres that this starts has hostile settings; a given one keeps its own.
 */
export default async function globalSetup(): Promise<void> {
  const results = await Promise.allSettled([supplyPostgres(), supplyRedis()]);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed === undefined) return;
  await stopAll(); // Jest runs no teardown after a failed setup
  throw failed.reason;
}

async function supplyPostgres(): Promise<void> {
  const given = environmentVariable('TEST_DATABASE_URL');
  const template = given === undefined ? 'postrider_template' : `postrider_template_${process.pid}`;
  const url = given ?? (await throwAwayPostgres());
  if (given !== undefined) keepRunning({ stop: () => dropTemplate(given, template) });
  await createTemplate(url, template);
  process.env[ADMIN_URL_KEY] = url;
  process.env[TEMPLATE_KEY] = template;
}

async function throwAwayPostgres(): Promise<string> {
  const dataDir = join(await serverFolder(), `postrider-test-${randomBytes(6).toString('hex')}`);
  const postgres = await startPostgres({
    dataDir,
    durable: false,
    throwAway: true,
    otherRemedy: 'set TEST_DATABASE_URL: with it, tests that start no Postgres of their own run',
    settings: { ...HOSTILE_SETTINGS, scram_iterations: '1' },
  });
  keepRunning(postgres);
  await hashPasswordAgain(postgres.url);
  return postgres.url;
}

/**
 * Stores the password again, now with the `scram_iterations` of the server. With the default, a client hashes
 * its password 4,096 times. That takes milliseconds, in each of 10,000 connections.
 */
async function hashPasswordAgain(url: string): Promise<void> {
  const { username, password } = new URL(url);
  await withClient(url, (client) => client.query(`alter role ${username} password '${password}'`));
}

/**
 * The folder for the data of the test server. Postgres spends most of a test on making and removing files. In
 * memory that takes a third of the time. Containers often have 64 MB of /dev/shm: too small.
 */
async function serverFolder(): Promise<string> {
  const memory = await statfs(MEMORY_FOLDER).catch(() => null); // macOS has no such folder
  return memory !== null && memory.bavail * memory.bsize >= MEMORY_BYTES_MIN ? MEMORY_FOLDER : tmpdir();
}

async function supplyRedis(): Promise<void> {
  const given = environmentVariable('TEST_REDIS_URL');
  if (given !== undefined) {
    process.env[REDIS_URL_KEY] = given;
  } else if (findRedisServer() !== null) {
    const redis = await startRedis();
    keepRunning(redis);
    process.env[REDIS_URL_KEY] = redis.url;
  }
}
