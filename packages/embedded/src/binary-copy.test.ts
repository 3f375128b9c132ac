import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { copyForOthers } from './binary-copy.ts';

const PROGRAM = randomUUID();
const OTHER_PROGRAM = PROGRAM.toUpperCase(); // of the same size

let native: string;
let copy: string;
beforeEach(() => {
  native = mkdtempSync(join(tmpdir(), 'binary-copy-'));
  mkdirSync(join(native, 'bin'));
  writeFileSync(join(native, 'bin', 'postgres'), PROGRAM, { mode: 0o700 });
  copy = copyForOthers(native);
});
afterEach(() => {
  for (const folder of [native, copy]) rmSync(folder, { recursive: true });
});

test('the copy is one that every user can run, and is made once', () => {
  const program = join(copy, 'bin', 'postgres');
  expect(statSync(program).mode & 0o777).toBe(0o755);
  const { ino } = statSync(program);
  expect(copyForOthers(native)).toBe(copy);
  expect(statSync(program).ino).toBe(ino);
});

const asRoot = process.getuid?.() === 0 ? test : test.skip;

asRoot.each<[string, (program: string) => void]>([
  ['belongs to another user', (program) => chownSync(program, 54_321, 54_321)],
  ['is in a folder of another user', (program) => chownSync(join(program, '..'), 54_321, 54_321)],
  ['is in a folder that others may write to', (program) => chmodSync(join(program, '..'), 0o777)],
])('a program that %s is never run: the copy is made again', (_what, give) => {
  const program = join(copy, 'bin', 'postgres');
  writeFileSync(program, OTHER_PROGRAM);
  give(program);
  expect(readFileSync(join(copyForOthers(native), 'bin', 'postgres'), 'utf8')).toBe(PROGRAM);
});
