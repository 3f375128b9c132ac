import { once } from 'node:events';
import { createServer } from 'node:tls';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startRedis } from '@postrider/embedded';
import type { RunningRedis } from '@postrider/embedded';
import { createTestAuthority, describeWithRedis, fetchMetrics, waitFor } from '@postrider/testing';
import type { LogLine, SystemProcess } from '@postrider/testing';
import { Redis } from 'ioredis';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

const PROCESSES = ['api', 'relay', 'worker'] as const;
const OTHER_PASSWORD = 'not-the-password-of-this-server';
const TIMEOUT_MS = 120_000;

let redis: RunningRedis;
let system: System;

function lines({ log }: SystemProcess, msg: string): LogLine[] {
  return log.filter((line) => line['msg'] === msg);
}

/** Waits until the process has counted this many errors of Redis. */
async function errorsCounted(started: SystemProcess, count: number): Promise<void> {
  const counted = async () =>
    (await fetchMetrics(await started.port())).find('postrider_redis_errors_total') ?? 0;
  await waitFor(async () => (await counted()) >= count, { what: `${count} errors of ${started.name}` });
}

/** Waits for the one warning. @returns its reason. */
async function reasonOf(started: SystemProcess): Promise<unknown> {
  await waitFor(() => lines(started, 'redis error').length > 0, { what: `${started.name} to warn` });
  expect(lines(started, 'redis error')).toHaveLength(1);
  return lines(started, 'redis error')[0]?.['reason'];
}

async function readyz(started: SystemProcess): Promise<{ status: number; parts: Record<string, string> }> {
  const response = await fetch(`http://127.0.0.1:${await started.port()}/readyz`);
  const { parts } = (await response.json()) as { parts: Record<string, string> };
  return { status: response.status, parts };
}

async function ask(...words: [string, ...string[]]): Promise<void> {
  const client = new Redis({ port: redis.port, password: 'secret' });
  await client.call(...words);
  client.disconnect();
}

describeWithRedis('a Redis that refuses Postrider', () => {
  beforeEach(async () => {
    redis = await startRedis({ args: ['--requirepass', 'secret'] });
    system = await startSystem({ redisUrl: `redis://:${OTHER_PASSWORD}@127.0.0.1:${redis.port}` });
  });
  afterEach(async () => {
    await system.close();
    await redis.stop();
  });

  /** From now on Redis accepts the password of the processes. */
  const accept = () => ask('CONFIG', 'SET', 'requirepass', OTHER_PASSWORD);

  test(
    'is one warning of each process with the words of Redis, and one line when it works again',
    async () => {
      await system.webhook('/hook');
      const all = await system.startAll(PROCESSES);
      await system.record(1);
      for (const started of all) {
        expect(await reasonOf(started)).toContain('WRONGPASS');
        await errorsCounted(started, 5);
        expect(lines(started, 'redis error')).toHaveLength(1);
        expect(lines(started, 'redis works again')).toEqual([]);
        const part = started.name === 'api' ? 'limiter' : 'queue';
        const { status, parts } = await readyz(started);
        expect([status, parts[part]]).toEqual([200, expect.stringContaining('Redis is not available')]);
        expect(parts).toMatchObject({ postgres: 'ok', migrations: 'ok' });
        expect(JSON.stringify(started.log)).not.toContain(OTHER_PASSWORD);
      }
      expect((await readyz(all[0])).parts['limiter']).toContain('refused with 429');

      await accept();
      await system.drained();
      for (const started of all) {
        await waitFor(() => lines(started, 'redis works again').length > 0, {
          what: `${started.name} to go on`,
        });
        expect(lines(started, 'redis error')).toHaveLength(1);
        expect(Object.values((await readyz(started)).parts)).toEqual(['ok', 'ok', 'ok']);
      }
    },
    TIMEOUT_MS,
  );

  test(
    'lets no pass of the relay recover before it has done its work, and each failure is counted',
    async () => {
      await system.webhook('/hook');
      await system.record(1);
      const relay = await system.start('relay');
      const failures = async () =>
        (await fetchMetrics(await relay.port())).find('postrider_passes_failed_total{pass="deliveries"}') ??
        0;
      await waitFor(async () => (await failures()) >= 3, { what: 'three failed passes' });
      const told = (msg: string) => lines(relay, msg).filter((line) => line['pass'] === 'deliveries').length;
      expect([told('pass failed'), told('pass recovered')]).toEqual([1, 0]);

      await accept();
      await system.start('worker');
      await system.drained();
      await waitFor(() => told('pass recovered') === 1, { what: 'the pass to recover' });
      expect(told('pass failed')).toBe(1);
    },
    TIMEOUT_MS,
  );

  test(
    'without the command INFO is a warning of relay and worker',
    async () => {
      await ask('ACL', 'SETUSER', 'app', 'on', '>app', '~*', '&*', '+@all', '-info');
      await system.record(1);
      for (const name of ['relay', 'worker'] as const) {
        const started = await system.start(name, { REDIS_URL: `redis://app:app@127.0.0.1:${redis.port}` });
        expect(await reasonOf(started)).toContain('NOPERM');
      }
    },
    TIMEOUT_MS,
  );

  test(
    'behind a certificate that nobody trusts is a warning of each process',
    async () => {
      const authority = await createTestAuthority();
      const { keyPem, certPem } = await authority.selfSigned({ addresses: ['127.0.0.1'] });
      const server = createServer({ key: keyPem, cert: certPem }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as { port: number };
      for (const name of PROCESSES) {
        const started = await system.start(name, { REDIS_URL: `rediss://127.0.0.1:${port}` });
        expect(await reasonOf(started)).toMatch(/certificate/);
      }
      server.close();
    },
    TIMEOUT_MS,
  );

  test(
    'is killed and comes back: one warning, and one line when it works again',
    async () => {
      await accept();
      const worker = await system.start('worker');
      await waitFor(async () => (await readyz(worker)).parts['queue'] === 'ok', { what: 'the worker' });
      expect(lines(worker, 'redis error')).toEqual([]);
      const { port } = redis;
      redis.kill('SIGKILL');
      expect(await reasonOf(worker)).toContain('ECONN');
      await errorsCounted(worker, 5);
      redis = await startRedis({ port, args: ['--requirepass', OTHER_PASSWORD] });
      await waitFor(() => lines(worker, 'redis works again').length === 1, { what: 'the worker to go on' });
      expect(lines(worker, 'redis error')).toHaveLength(1);
    },
    TIMEOUT_MS,
  );
});
