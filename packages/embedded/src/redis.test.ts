import { afterEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRunning, waitForExit } from './process-state.ts';
import { findRedisServer, startRedis, type RunningRedis } from './redis.ts';

// In CI (REQUIRE_REDIS=1) a missing server fails these tests instead of skipping them.
const skipped = findRedisServer() === null && process.env['REQUIRE_REDIS'] !== '1';
const title = 'a private Redis';

(skipped ? describe.skip : describe)(skipped ? `${title} (skipped: no server on PATH)` : title, () => {
  const started: RunningRedis[] = [];
  const start = async (...options: Parameters<typeof startRedis>): Promise<RunningRedis> => {
    const redis = await startRedis(...options);
    started.push(redis);
    return redis;
  };

  afterEach(async () => {
    for (const redis of started.splice(0)) if (isRunning(redis.pid)) await redis.stop();
  });

  test('answers on its own port and writes nothing to disk', async () => {
    const [first, second] = await Promise.all([start(), start()]);

    expect(first.port).not.toBe(second.port);
    expect(first.url).toBe(`redis://127.0.0.1:${first.port}`);
    expect(await ask(first, 'CONFIG GET save')).toContain('save\r\n$0');
    expect(await ask(first, 'CONFIG GET appendonly')).toContain('no');
    expect(await ask(first, 'CONFIG GET bind')).toContain('127.0.0.1');
  });

  test('accepts more arguments', async () => {
    const redis = await start({ args: ['--maxmemory', '3mb'] });

    expect(await ask(redis, 'CONFIG GET maxmemory')).toContain(String(3 * 1024 * 1024));
  });

  test('does not answer while paused, and answers after resume', async () => {
    const redis = await start();
    const socket = createConnection({ port: redis.port, host: '127.0.0.1' });
    await new Promise((resolve) => socket.once('connect', resolve));
    redis.pause();
    const answer = nextData(socket);
    socket.write('PING\r\n');

    expect(isRunning(redis.pid)).toBe(true);
    expect(socket.bytesRead).toBe(0);
    redis.resume();
    expect(await answer).toBe('+PONG\r\n');
    socket.destroy();
  });

  test('is gone after stop, even while paused', async () => {
    const redis = await start();
    redis.pause();
    await redis.stop();

    expect(isRunning(redis.pid)).toBe(false);
  });

  test('can be killed and started again on the same port', async () => {
    const first = await start();
    first.kill('SIGKILL');
    expect(await waitForExit(first.pid, 20_000)).toBe(true);
    const second = await start({ port: first.port });

    expect(await ask(second, 'PING')).toBe('+PONG\r\n');
  });

  test('quotes the output of a server that cannot start', async () => {
    await expect(start({ args: ['--maxmemory', 'plenty'] })).rejects.toThrow(/did not start[^]*maxmemory/);
  });
});

test('a server that cannot run leaves no folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'no-redis-'));
  writeFileSync(join(folder, 'redis-server'), '#!/missing/interpreter', { mode: 0o755 });
  const { PATH, TMPDIR } = process.env;
  Object.assign(process.env, { PATH: folder, TMPDIR: folder });
  try {
    await expect(startRedis()).rejects.toThrow('ENOENT');
    expect(readdirSync(folder)).toEqual(['redis-server']);
  } finally {
    process.env['PATH'] = PATH;
    if (TMPDIR === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = TMPDIR;
    rmSync(folder, { recursive: true });
  }
});

async function ask({ port }: RunningRedis, command: string): Promise<string> {
  const socket = createConnection({ port, host: '127.0.0.1' });
  try {
    const answer = nextData(socket);
    socket.write(`${command}\r\n`);
    return await answer;
  } finally {
    socket.destroy();
  }
}

async function nextData(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    socket.once('data', (data) => resolve(data.toString()));
    socket.once('error', reject);
  });
}
