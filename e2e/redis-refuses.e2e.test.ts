import { createServer } from 'node:tls';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { startRedis } from '@postrider/embedded';
import type { RunningRedis } from '@postrider/embedded';
import { createTestAuthority, describeWithRedis, fetchMetrics, listen, waitFor } from '@postrider/testing';
import type { LogLine, SystemProcess } from '@postrider/testing';
import { Redis } from 'ioredis';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

const PROCESSES = ['api', 'relay', 'worker'] as const;
const OTHER_PASSWORD = 'not-the-password-of-this-server';
const TIMEOUT_MS = 120_000;

let redis: RunningRedis;
let password = 'secret';
let system: System;
/** Redis refuses these processes until a test calls `makeRedisAccept`. */
let all: readonly [SystemProcess, SystemProcess, SystemProcess];

/** @param from the number of lines to leave out, from the beginning of the log */
function lines({ log }: SystemProcess, msg: string, from = 0): LogLine[] {
  return log.slice(from).filter((line) => line['msg'] === msg);
}

/** The errors of Redis that the process has counted. */
async function errorsOf(started: SystemProcess): Promise<number> {
  return (await fetchMetrics(await started.port())).find('postrider_redis_errors_total') ?? 0;
}

async function untilErrorsCounted(started: SystemProcess, count: number): Promise<void> {
  await waitFor(async () => (await errorsOf(started)) >= count, {
    what: `${count} errors of ${started.name}`,
  });
}

/** Waits for the one warning. @returns its reason. */
async function reasonOf(started: SystemProcess, from = 0): Promise<unknown> {
  await waitFor(() => lines(started, 'redis error', from).length > 0, { what: `${started.name} to warn` });
  expect(lines(started, 'redis error', from)).toHaveLength(1);
  return lines(started, 'redis error', from)[0]?.['reason'];
}

async function readyz(started: SystemProcess): Promise<{ status: number; parts: Record<string, string> }> {
  const response = await fetch(`http://127.0.0.1:${await started.port()}/readyz`);
  const { parts } = (await response.json()) as { parts: Record<string, string> };
  return { status: response.status, parts };
}

/** Sends a command to Redis with the right password. */
async function sendCommand(...words: [string, ...string[]]): Promise<void> {
  const client = new Redis({ port: redis.port, password });
  await client.call(...words);
  client.disconnect();
}

/** Waits until Redis has refused all processes. Then it accepts their password, and they go on. */
async function makeRedisAccept(): Promise<void> {
  for (const started of all) await reasonOf(started);
  await sendCommand('CONFIG', 'SET', 'requirepass', OTHER_PASSWORD);
  password = OTHER_PASSWORD;
  for (const started of all) {
    await waitFor(() => lines(started, 'redis works again').length > 0, { what: `${started.name} to go on` });
  }
}

describeWithRedis('a Redis that refuses Postrider', () => {
  beforeAll(async () => {
    redis = await startRedis({ args: ['--requirepass', password] });
    system = await startSystem({ redisUrl: `redis://:${OTHER_PASSWORD}@127.0.0.1:${redis.port}` });
    all = await system.startAll(PROCESSES);
  });
  afterAll(async () => {
    await system.close();
    await redis.stop();
  });
  afterEach(() => system.reset());

  test(
    'makes each process warn once with the words of Redis, and log one line when it works again',
    async () => {
      const [, relay] = all;
      const failures = async () =>
        (await fetchMetrics(await relay.port())).find(
          'postrider_passes_failed_total{pass="deliveries",service="relay"}',
        ) ?? 0;
      const count = (msg: string) => lines(relay, msg).filter((line) => line['pass'] === 'deliveries').length;
      await system.webhook('/hook');
      await system.record(1);
      for (const started of all) {
        expect(await reasonOf(started)).toContain('WRONGPASS');
        await untilErrorsCounted(started, 5);
        expect(lines(started, 'redis error')).toHaveLength(1);
        expect(lines(started, 'redis works again')).toEqual([]);
        const part = started.name === 'api' ? 'limiter' : 'queue';
        const { status, parts } = await readyz(started);
        expect([status, parts[part]]).toEqual([200, expect.stringContaining('Redis is not available')]);
        expect(parts).toMatchObject({ postgres: 'ok', migrations: 'ok' });
        expect(JSON.stringify(started.log)).not.toContain(OTHER_PASSWORD);
      }
      expect((await readyz(all[0])).parts['limiter']).toContain('refused with 429');
      // No pass of the relay recovers before it has done its work, and each failure is counted.
      await waitFor(async () => (await failures()) >= 3, { what: 'three failed passes' });
      expect([count('pass failed'), count('pass recovered')]).toEqual([1, 0]);

      await makeRedisAccept();
      await system.drained();
      for (const started of all) {
        expect(lines(started, 'redis works again')).toHaveLength(1);
        expect(lines(started, 'redis error')).toHaveLength(1);
        expect(Object.values((await readyz(started)).parts)).toEqual(['ok', 'ok', 'ok']);
      }
      await waitFor(() => count('pass recovered') === 1, { what: 'the pass to recover' });
      expect(count('pass failed')).toBe(1);
    },
    TIMEOUT_MS,
  );

  test(
    'makes a worker warn once when it is killed, and log one line when it works again',
    async () => {
      await makeRedisAccept();
      const [, , worker] = all;
      await waitFor(async () => (await readyz(worker)).parts['queue'] === 'ok', { what: 'the worker' });
      const from = worker.log.length;
      const errors = await errorsOf(worker);
      const { port } = redis;
      redis.kill('SIGKILL');
      expect(await reasonOf(worker, from)).toContain('ECONN');
      await untilErrorsCounted(worker, errors + 5);
      redis = await startRedis({ port, args: ['--requirepass', OTHER_PASSWORD] });
      await waitFor(() => lines(worker, 'redis works again', from).length === 1, {
        what: 'the worker to go on',
      });
      expect(lines(worker, 'redis error', from)).toHaveLength(1);
    },
    TIMEOUT_MS,
  );

  test(
    'by withholding the command INFO makes relay and worker warn',
    async () => {
      await sendCommand('ACL', 'SETUSER', 'app', 'on', '>app', '~*', '&*', '+@all', '-info');
      await system.record(1);
      for (const name of ['relay', 'worker'] as const) {
        const started = await system.start(name, { REDIS_URL: `redis://app:app@127.0.0.1:${redis.port}` });
        expect(await reasonOf(started)).toContain('NOPERM');
        await started.kill();
      }
    },
    TIMEOUT_MS,
  );

  test(
    'by withholding the command SELECT, for a URL with a database, makes each process warn only once',
    async () => {
      await sendCommand('ACL', 'SETUSER', 'app', 'on', '>app', '~*', '&*', '+@all', '-select');
      for (const name of PROCESSES) {
        const started = await system.start(name, { REDIS_URL: `redis://app:app@127.0.0.1:${redis.port}/1` });
        expect(await reasonOf(started)).toMatch(/NOPERM.*select/);
        const part = name === 'api' ? 'limiter' : 'queue';
        expect((await readyz(started)).parts[part]).toContain('Redis is not available');
        await untilErrorsCounted(started, 5);
        expect(lines(started, 'redis error')).toHaveLength(1);
        expect(lines(started, 'redis works again')).toEqual([]);
        await started.kill();
      }
    },
    TIMEOUT_MS,
  );

  test(
    'by a certificate that no process trusts makes API and worker warn',
    async () => {
      const authority = await createTestAuthority();
      const { keyPem, certPem } = await authority.selfSigned({ addresses: ['127.0.0.1'] });
      const { port, close } = await listen(createServer({ key: keyPem, cert: certPem }));
      // The relay watches the queue as the worker does.
      for (const name of ['api', 'worker'] as const) {
        const started = await system.start(name, { REDIS_URL: `rediss://127.0.0.1:${port}` });
        expect(await reasonOf(started)).toMatch(/certificate/);
        await started.kill();
      }
      await close();
    },
    TIMEOUT_MS,
  );
});
