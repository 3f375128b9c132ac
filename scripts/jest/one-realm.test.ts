import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import vm from 'node:vm';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';

// The promises of environment.cjs, runtime.cjs and summary.cjs, which override private members of Jest.

const ROOT = join(import.meta.dirname, '../..');
const SCRATCH = join(ROOT, 'coverage');

describe('in a test file', () => {
  test('globalThis is that of the worker', () => {
    expect(vm.runInThisContext('globalThis')).toBe(globalThis);
  });

  test('an error of Node is an Error', async () => {
    const error = await new Promise((resolve) => {
      request({ port: 1, host: '127.0.0.1' }).once('error', resolve).end();
    });
    expect(error).toBeInstanceOf(Error);
  });
});

describe('test files that one worker runs', () => {
  let folder: string;

  beforeEach(() => {
    mkdirSync(SCRATCH, { recursive: true });
    folder = mkdtempSync(join(SCRATCH, 'one-realm-'));
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  /** Runs `npm test -- ARGS` on these files. @returns the lines of stdout */
  async function runTests(files: Record<string, string>): Promise<string[]> {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const config = {
      rootDir: folder,
      testEnvironment: join(ROOT, 'scripts/jest/environment.cjs'),
      runtime: join(ROOT, 'scripts/jest/runtime.cjs'),
      reporters: [join(ROOT, 'scripts/jest/summary.cjs')],
      injectGlobals: false,
      moduleFileExtensions: ['mjs', 'js', 'json'],
      testMatch: ['<rootDir>/*.test.mjs'],
      transform: {},
    };
    const args = ['scripts/test.mjs', '--config', JSON.stringify(config), '--runInBand'];
    const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'ignore'] });
    const output: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    await once(child, 'close');
    return Buffer.concat(output).toString().trimEnd().split('\n');
  }

  test('share the packages, and have our modules, process.env and listeners of process of their own', async () => {
    const body = `
      import { expect, test } from '@jest/globals';
      import * as oxfmt from 'oxfmt';
      import { token } from './own.mjs';

      test('what the file before has left', () => {
        const before = globalThis.before;
        globalThis.before = { format: oxfmt.format, token };
        expect(process.env.OF_ONE_FILE).toBeUndefined();
        expect(process.listenerCount('SIGUSR2')).toBe(0);
        process.env.OF_ONE_FILE = 'set';
        process.on('SIGUSR2', () => {});
        if (before === undefined) return;
        expect(oxfmt.format).toBe(before.format);
        expect(token).not.toBe(before.token);
      });`;
    const files = { 'own.mjs': 'export const token = {};', 'a.test.mjs': body, 'b.test.mjs': body };
    expect((await runTests(files)).at(-1)).toBe('2 passed, 0 failed, 0 skipped');
  });

  test('leave no module in memory: the garbage collector frees them', async () => {
    const body = `
      import { setImmediate } from 'node:timers/promises';
      import { setFlagsFromString } from 'node:v8';
      import { runInNewContext } from 'node:vm';
      import { expect, test } from '@jest/globals';
      import { token } from './own.mjs';

      test('the modules of the files before', async () => {
        const tokens = (globalThis.tokens ??= []);
        tokens.push(new WeakRef(token));
        await setImmediate(); // a WeakRef holds its object until the end of the turn
        setFlagsFromString('--expose-gc');
        runInNewContext('gc')();
        // Jest may still hold the file before this one.
        expect(tokens.slice(0, -2).filter((each) => each.deref() !== undefined)).toEqual([]);
      });`;
    const files = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [`${name}.test.mjs`, body]));
    const lines = await runTests({ 'own.mjs': 'export const token = {};', ...files });
    expect(lines.at(-1)).toBe('4 passed, 0 failed, 0 skipped');
  });

  test('end with the result line, also when an error refers to itself', async () => {
    const body = `
      import { test } from '@jest/globals';
      test('passes', () => {});
      test.skip('waits', () => {});
      test('fails', () => {
        const error = new Error('circular');
        error.self = error;
        throw error;
      });`;
    expect((await runTests({ 'a.test.mjs': body })).at(-1)).toBe('1 passed, 1 failed, 1 skipped');
  });

  test('end with the result line when a file cannot be loaded', async () => {
    expect((await runTests({ 'a.test.mjs': 'import "./missing.mjs";' })).at(-1)).toBe(
      '0 passed, 1 failed, 0 skipped',
    );
  });
});
