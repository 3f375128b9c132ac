import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import type { Settings } from '../settings.ts';
import type { Terminal } from '../terminal.ts';
import { checkRedis } from './redis.ts';

const distDir = mkdtempSync(join(tmpdir(), 'redis-'));
afterAll(() => rmSync(distDir, { recursive: true }));

const terminal = { during: (_: string, work: () => unknown) => work() } as unknown as Terminal;

/** Checks the Redis of REDIS_URL with a `postrider status` that prints `document` and fails with `fault`. */
async function check(document: object | string, fault: string): Promise<void> {
  const program = `
    console.log(${JSON.stringify(typeof document === 'string' ? document : JSON.stringify(document))});
    console.error(${JSON.stringify(`postrider: ${fault}`)});
    process.exitCode = 1;`;
  writeFileSync(join(distDir, 'cli.js'), program);
  return checkRedis({ distDir, redisUrl: 'redis://localhost' } as Settings, process.env, terminal);
}

test.each([
  'no relay makes the days of the attempt log',
  'Redis may evict jobs (maxmemory-policy allkeys-lru): set it to noeviction',
])('the start goes on when Redis answers and the status has the fault %j', async (fault) => {
  await expect(check({ redis: { reachable: true } }, fault)).resolves.toBeUndefined();
});

test('the start ends when Redis does not answer, with the fault and the variable', async () => {
  const fault = 'the queue is not available: connect ECONNREFUSED 127.0.0.1:1';
  await expect(check({ redis: { reachable: false } }, fault)).rejects.toThrow(`${fault} (REDIS_URL)`);
});

test.each(['', '{"redis":', 'null', '{}'])(
  'the start ends when the status is unreadable: %j',
  async (status) => {
    await expect(check(status, 'QUEUE_PREFIX must not be empty')).rejects.toThrow(
      'QUEUE_PREFIX must not be empty',
    );
  },
);
