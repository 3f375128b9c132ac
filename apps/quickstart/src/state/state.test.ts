import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openConsole } from './console-key.ts';
import { DemonstrationFile } from './demonstration-file.ts';
import { markOf } from './process-identity.ts';
import { RunningFile } from './running-file.ts';
import { keptSecretsKey } from './secrets-key.ts';

let folder: string;
let sleepers: ChildProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'state-'));
});
afterEach(async () => {
  for (const sleeper of sleepers) {
    if (sleeper.exitCode === null && sleeper.signalCode === null) {
      sleeper.kill('SIGKILL');
      await once(sleeper, 'exit');
    }
  }
  sleepers = [];
  rmSync(folder, { recursive: true });
});

async function sleeper(): Promise<{ child: ChildProcess; pid: number }> {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  sleepers.push(child);
  await once(child, 'spawn');
  return { child, pid: child.pid ?? 0 };
}

const modeOf = (file: string) => statSync(join(folder, file)).mode & 0o777;
const marked = (pid: number) => ({ pid, identity: `${pid} 1` });
const NOBODY = marked(2 ** 22 + 1);
const leave = (state: object) => writeFileSync(join(folder, 'running.json'), JSON.stringify(state));

describe('the data directory', () => {
  test('belongs to one start at a time, and is free after it', async () => {
    const first = await RunningFile.take(folder);
    await expect(RunningFile.take(folder)).rejects.toThrow(
      `process ${process.pid} is using ${folder} already`,
    );
    first.remove();
    (await RunningFile.take(folder)).remove();
  });

  test('lists what runs, in a file with mode 0600', async () => {
    const file = await RunningFile.take(folder);
    file.note({ postgres: { pid: 7, url: 'postgres://x' } });
    file.noteChild('api', process.pid);
    file.note({ redisUrl: 'redis://x' });
    expect(JSON.parse(readFileSync(join(folder, 'running.json'), 'utf8'))).toEqual({
      launcher: markOf(process.pid),
      postgres: { pid: 7, url: 'postgres://x' },
      redisUrl: 'redis://x',
      children: { api: markOf(process.pid) },
    });
    expect(modeOf('running.json')).toBe(0o600);
  });

  test('of a killed start is taken over, and its processes are ended', async () => {
    const { child, pid } = await sleeper();
    leave({ launcher: NOBODY, postgres: null, redisUrl: null, children: { worker: markOf(pid) } });
    const ended = once(child, 'exit');
    (await RunningFile.take(folder)).remove();
    expect(await ended).toEqual([null, 'SIGTERM']);
  });

  test('does not end another process that got the number of a killed one', async () => {
    const { child, pid } = await sleeper();
    leave({ launcher: marked(pid), children: { worker: marked(pid) } });
    (await RunningFile.take(folder)).remove();
    expect({ code: child.exitCode, signal: child.signalCode }).toEqual({ code: null, signal: null });
  });

  test('with a damaged file can be taken', async () => {
    writeFileSync(join(folder, 'running.json'), '{"laun');
    (await RunningFile.take(folder)).remove();
  });
});

describe('the secrets key', () => {
  test('is made once, with mode 0600', () => {
    const key = keptSecretsKey(folder);
    expect(Buffer.from(key, 'base64')).toHaveLength(32);
    expect(keptSecretsKey(folder)).toBe(key);
    expect(modeOf('secrets-key')).toBe(0o600);
  });

  test('that is malformed is refused, not replaced', () => {
    writeFileSync(join(folder, 'secrets-key'), 'short');
    expect(() => keptSecretsKey(folder)).toThrow('does not hold a key');
  });
});

describe('the key of the console', () => {
  test('is made once, with mode 0600, and CONSOLE_KEYS has its digest', () => {
    const access = openConsole({ env: {}, dataDir: folder });
    expect(access.key).toMatch(/^pr_console_[\w-]{43}$/);
    const digest = createHash('sha256')
      .update(access.key ?? '')
      .digest('hex');
    expect(access.keys).toBe(`operator:operator:${digest}`);
    expect(openConsole({ env: {}, dataDir: folder })).toEqual(access);
    expect(modeOf('console-key')).toBe(0o600);
  });

  test('is not made when the user sets CONSOLE_KEYS', () => {
    const access = openConsole({ env: { CONSOLE_KEYS: 'ada:reader:00' }, dataDir: folder });
    expect(access).toEqual({ keys: 'ada:reader:00', key: null });
    expect(existsSync(join(folder, 'console-key'))).toBe(false);
  });
});

describe('the state of the demonstration', () => {
  test('is extended, read back, and has mode 0600', () => {
    const file = new DemonstrationFile(folder, 'embedded');
    expect(file.read()).toEqual({});
    file.keep({ accountId: 'acct_1', key: 'pr_live_x' });
    file.keep({ receiverPort: 7 });
    expect(new DemonstrationFile(folder, 'embedded').read()).toEqual({
      accountId: 'acct_1',
      key: 'pr_live_x',
      receiverPort: 7,
    });
    expect(new DemonstrationFile(folder, 'other').read()).toEqual({});
    expect(modeOf('quickstart-embedded.json')).toBe(0o600);
  });
});
