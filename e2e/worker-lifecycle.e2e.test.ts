import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { isRunning, startPostgres, startRedis } from '@postrider/embedded';
import type { RunningPostgres, RunningRedis } from '@postrider/embedded';
import {
  after,
  answer,
  describeWithRedis,
  hang,
  HOSTILE_SETTINGS,
  setup,
  waitFor,
  withClient,
} from '@postrider/testing';
import type { SystemProcess, TestDatabase } from '@postrider/testing';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/* What API, relay and worker do on SIGTERM, with everything up and with something away. */

const SHORT_DEADLINE_MS = '3000';
const CLI = join(import.meta.dirname, '../dist/cli.js');

const system = setup(
  () => startSystem(),
  (opened) => opened.close(),
);
let relay: SystemProcess;

/** Opens a page of the process's operations server. */
async function ask(started: SystemProcess, path: string): Promise<{ status: number; body: string }> {
  const response = await fetch(`http://127.0.0.1:${await started.port()}${path}`);
  return { status: response.status, body: await response.text() };
}

async function untilStatus(started: SystemProcess, path: string, status: number): Promise<void> {
  await waitFor(async () => (await ask(started, path)).status === status, {
    what: `${path} of ${started.name} to be ${status}`,
  });
}

async function untilLogged(started: SystemProcess, msg: string): Promise<void> {
  await waitFor(() => started.log.some((line) => line['msg'] === msg), {
    what: `${started.name} to log "${msg}"`,
  });
}

function testAttemptInFlight(env: Readonly<Record<string, string>>): void {
  beforeAll(async () => {
    relay = await system.start('relay', env);
  });
  afterAll(async () => expect(await relay.stop()).toBe(0));
  afterEach(() => system.reset());

  test('SIGTERM during an attempt: it ends, is recorded, and the exit is 0', async () => {
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    system.receiver.always('/hook', after(opened, answer(200)));
    await system.webhook('/hook');
    const worker = await system.start('worker', env);
    await system.record(1);
    await system.receiver.waitForRequests(1);
    worker.signal('SIGTERM');
    await untilLogged(worker, 'stopping');
    open();
    expect(await worker.exited()).toBe(0);
    expect(await system.outstanding()).toBe(0);
    expect(await system.db.query('select attempt, status from attempts')).toEqual([
      { attempt: 1, status: 200 },
    ]);
    expect(system.receiver.requests).toHaveLength(1);
    expect(worker.stderr).toEqual([]);
  });
}

describe('with the queue in Postgres', () => {
  testAttemptInFlight({});

  test('an attempt that outlasts the deadline is left to its lease: not counted, and the exit is 0', async () => {
    system.receiver.always('/hook', hang());
    await system.webhook('/hook');
    const worker = await system.start('worker', { SHUTDOWN_DEADLINE_MS: SHORT_DEADLINE_MS });
    await system.record(1);
    await system.receiver.waitForRequests(1);
    expect(await worker.stop()).toBe(0);
    const rows = await system.db.query('select attempts, leased_until is not null as leased from deliveries');
    expect(rows).toEqual([{ attempts: 0, leased: true }]);
    expect(await system.db.query('select from attempts')).toEqual([]);
    expect(await system.db.query('select from dead_letters')).toEqual([]);
    await system.db.query('delete from deliveries');
  });
});
describeWithRedis('with the queue in Redis', (redisUrl) => testAttemptInFlight({ REDIS_URL: redisUrl }));

describeWithRedis('with Redis killed', () => {
  let redis: RunningRedis;

  const start = (name: 'api' | 'relay' | 'worker', shutdownDeadlineMs = SHORT_DEADLINE_MS) =>
    system.start(name, { REDIS_URL: redis.url, SHUTDOWN_DEADLINE_MS: shutdownDeadlineMs });

  beforeEach(async () => {
    redis = await startRedis();
  });
  afterEach(async () => {
    await system.reset();
    await redis.stop();
  });

  test('API, relay and worker stay ready, and SIGTERM exits 0', async () => {
    const all = await Promise.all([start('api'), start('relay'), start('worker')]);
    for (const started of all) await untilStatus(started, '/readyz', 200);
    redis.kill('SIGKILL');
    for (const started of all) {
      await untilLogged(started, 'redis error');
      for (const path of ['/readyz', '/healthz']) expect((await ask(started, path)).status).toBe(200);
      expect(await started.stop()).toBe(0);
      expect(started.stderr).toEqual([]);
    }
  });

  test('a worker finishes and records its attempts in flight, then exits 0', async () => {
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    system.receiver.always('/hook', after(opened, answer(200)));
    await system.webhook('/hook');
    const [relayOfRedis, worker] = await Promise.all([start('relay'), start('worker', '20000')]);
    await system.record(1);
    await system.receiver.waitForRequests(1);
    redis.kill('SIGKILL');
    worker.signal('SIGTERM');
    await untilLogged(worker, 'stopping');
    open();
    expect(await worker.exited()).toBe(0);
    expect(await system.outstanding()).toBe(0);
    await relayOfRedis.kill();
  });
});

describe('with Postgres stopped', () => {
  let dataDir: string;
  let postgres: RunningPostgres;
  let systemOnIt: System;

  const start = (port = 0) =>
    startPostgres({ dataDir, port, durable: false, throwAway: true, settings: HOSTILE_SETTINGS });

  /** Ends Postgres and keeps its files. `stop` would remove them. */
  async function shutDown(): Promise<void> {
    postgres.kill('SIGINT');
    await waitFor(() => !isRunning(postgres.pid), { what: 'Postgres to end' });
  }

  beforeAll(async () => {
    dataDir = join(mkdtempSync(join(tmpdir(), 'postrider-lifecycle-')), 'data');
    postgres = await start();
    execFileSync(process.execPath, [CLI, 'migrate'], {
      env: { PATH: process.env['PATH'], DATABASE_URL: postgres.url },
      stdio: 'ignore',
    });
    const env = { SHUTDOWN_DEADLINE_MS: SHORT_DEADLINE_MS };
    systemOnIt = await startSystem({ database: databaseOn(postgres), env });
  });
  afterAll(async () => {
    try {
      await systemOnIt.close();
    } finally {
      await postgres.stop();
      rmSync(join(dataDir, '..'), { recursive: true, force: true });
    }
  });

  test('relay and worker stay alive but not ready, and work again when Postgres is back; SIGTERM exits 0 while it is away', async () => {
    await systemOnIt.webhook('/hook');
    const running = await systemOnIt.startAll(['relay', 'worker']);
    for (const started of running) await untilStatus(started, '/readyz', 200);
    await shutDown();
    for (const started of running) {
      await untilStatus(started, '/readyz', 503);
      expect((await ask(started, '/healthz')).status).toBe(200);
    }
    postgres = await start(postgres.port);
    for (const started of running) await untilStatus(started, '/readyz', 200);
    // The test's own pool may still have a dead connection.
    const [eventId] = await waitFor(() => systemOnIt.record(1), { what: 'an event to be recorded' });
    const [request] = await systemOnIt.receiver.waitForRequests(1, { withinMs: 60_000 });
    expect(request?.headers['service-event-id']).toBe(eventId);
    await systemOnIt.drained();
    await shutDown();
    for (const started of running) expect(await started.stop()).toBe(0);
  });
});

/** The database `postgres` of a private server, with a connection for each statement. */
function databaseOn(postgres: RunningPostgres): TestDatabase {
  return {
    url: postgres.url,
    query: (sql, params = []) =>
      withClient(postgres.url, async (client) => (await client.query<never>(sql, params)).rows),
    drop: async () => undefined, // it goes with the server
  };
}
