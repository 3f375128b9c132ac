import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { buildSync } from 'esbuild';

let folder: string;
const groups: number[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'postrider-launcher-'));
  write('npm.cjs', `process.title = 'npm start'; ${spawning(`'sh', ['-c', process.argv[2] + '; :']`)}`);
  write('older.cjs', spawning(`process.execPath, ['launcher.mjs']`));
  bundle(
    'launcher.mjs',
    `const control = launcherControl(true);
    control.onSignal((signal) => { console.log(signal); control.exit(0); });
    setInterval(() => undefined, 1000);
    console.log('ready');`,
  );
  bundle('ends.mjs', `launcherControl(false).exit(Number(process.argv[2]));`);
});
afterAll(() => {
  for (const pid of groups) {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch (error) {
      expect(error).toMatchObject({ code: 'ESRCH' });
    }
  }
  rmSync(folder, { recursive: true });
});

function write(name: string, content: string): void {
  writeFileSync(join(folder, name), content);
}

const spawning = (command: string) =>
  `require('node:child_process').spawn(${command}, { stdio: 'inherit' }).once('exit', process.exit);`;

function bundle(name: string, code: string): void {
  buildSync({
    stdin: {
      contents: `import { launcherControl } from './process-control.ts'; ${code}`,
      resolveDir: import.meta.dirname,
    },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: join(folder, name),
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(process.execPath);" },
  });
}

function run(...args: string[]) {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // a group of its own, which a failed test leaves
  });
  groups.push(child.pid ?? 0);
  return { child, stdout: text(child.stdout), stderr: text(child.stderr) };
}

(existsSync('/proc/self/stat') ? test.each : test.skip.each)([
  ['a shell', 'launcher.mjs'],
  ['a shell and the older Node that runs it again', 'older.cjs'],
])('a killed npm stops the system below %s', async (_between, script) => {
  const { child, stdout } = run('npm.cjs', `'${process.execPath}' ${script}`);
  child.stdout.once('data', () => child.kill('SIGKILL'));
  expect(await stdout).toBe('ready\nSIGTERM\n');
});

test('a closed terminal stops the system like SIGTERM', async () => {
  const { child, stdout } = run('launcher.mjs');
  child.stdout.once('data', () => child.kill('SIGHUP'));
  expect(await stdout).toBe('ready\nSIGTERM\n');
});

test('an end by a second signal says that processes may be left', async () => {
  expect(await run('ends.mjs', '0').stderr).toBe('');
  expect(await run('ends.mjs', '130').stderr).toBe(
    'postrider: ended at once; processes that it started may still run, and the next npm start takes them over\n',
  );
});
