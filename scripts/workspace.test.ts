import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

test('a script that is called by a symbolic link runs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-link-'));
  const link = join(folder, 'run.mjs');
  symlinkSync(fileURLToPath(new URL('run.mjs', import.meta.url)), link);
  const { status, stderr } = spawnSync(process.execPath, [link], { encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  expect({ status, stderr }).toEqual({ status: 2, stderr: 'usage: node scripts/run.mjs APP [ARGUMENTS]\n' });
});
