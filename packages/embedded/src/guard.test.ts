import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { build } from 'esbuild';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createInterface } from 'node:readline/promises';
import { isRunning, waitForExit } from './process-state.ts';

const LAUNCHER = `
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { Guard } from './guard.ts';
mkdirSync(process.argv[2]);
const server = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' });
const [, , files, wish] = process.argv;
const earlier = wish === 'earlier' ? [server.pid + ' 1'] : [];
const guard = new Guard(server.pid!, 'SIGTERM', [files!], ...earlier);
if (wish === 'release') guard.release();
server.unref();
console.log(server.pid + ' ' + guard.pid);
process.stdin.resume();
`;

describe('a guard', () => {
  let folder: string;
  let guarded: string;
  let launcherFile: string;
  let launcher: ChildProcess;
  let serverPid: number;
  let guardPid: number;

  const launch = async (...args: string[]): Promise<void> => {
    launcher = spawn(process.execPath, [launcherFile, guarded, ...args], {
      env: { ...process.env, PATH: '/run/programs:/bin' },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: launcher.stdout as NonNullable<typeof launcher.stdout> });
    const [line] = (await once(lines, 'line')) as [string];
    [serverPid, guardPid] = line.split(' ').map(Number) as [number, number];
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'postrider-guard-'));
    guarded = join(folder, 'files');
    launcherFile = join(folder, 'launcher.mjs');
    const here = fileURLToPath(new URL('.', import.meta.url));
    await build({
      stdin: { contents: LAUNCHER, loader: 'ts', resolveDir: here },
      bundle: true,
      platform: 'node',
      format: 'esm',
      outfile: launcherFile,
    });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each(['SIGKILL', 'SIGTERM'] as const)(
    'ends the server and removes its files after the launcher got %s',
    async (signal) => {
      await launch();
      expect(isRunning(serverPid)).toBe(true);
      launcher.kill(signal);

      expect(await waitForExit(guardPid, 20_000)).toBe(true);
      expect(isRunning(serverPid)).toBe(false);
      expect(existsSync(guarded)).toBe(false);
    },
  );

  (process.platform === 'linux' ? test : test.skip)(
    'looks for sleep and rm on the PATH of its launcher, too: NixOS has them there alone',
    async () => {
      await launch();
      const environment = readFileSync(`/proc/${guardPid}/environ`, 'utf8').split('\0');
      launcher.kill('SIGKILL');
      expect(await waitForExit(guardPid, 20_000)).toBe(true);
      expect(environment).toContain('PATH=/usr/bin:/bin:/run/programs:/bin');
    },
  );

  test('ends a server that is paused', async () => {
    await launch();
    process.kill(serverPid, 'SIGSTOP');
    launcher.kill('SIGKILL');

    expect(await waitForExit(guardPid, 20_000)).toBe(true);
    expect(isRunning(serverPid)).toBe(false);
    expect(existsSync(guarded)).toBe(false);
  });

  test('leaves a later process alone that has the number of the server, and removes the files', async () => {
    await launch('earlier');
    launcher.kill('SIGKILL');
    expect(await waitForExit(guardPid, 20_000)).toBe(true);

    expect(isRunning(serverPid)).toBe(true);
    expect(existsSync(guarded)).toBe(false);
    process.kill(serverPid, 'SIGKILL');
  });

  test('leaves the server and its files alone once it is released', async () => {
    await launch('release');
    launcher.kill('SIGKILL');
    expect(await waitForExit(guardPid, 20_000)).toBe(true);

    expect(isRunning(serverPid)).toBe(true);
    expect(existsSync(guarded)).toBe(true);
    process.kill(serverPid, 'SIGKILL');
  });
});
