import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { runNode } from '@postrider/testing';
import { MECHANISMS } from './mechanisms.ts';

const BUILD = join(import.meta.dirname, '../../../scripts/build-without.mjs');

test('every mechanism can be taken out of relay and worker, and all of them together', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-without-'));
  try {
    expect(await runNode([BUILD, folder, ...Object.keys(MECHANISMS)])).toMatchObject({ code: 0, stderr: '' });
    const [relay, worker] = ['relay', 'worker'].map((name) =>
      readFileSync(join(folder, `${name}.js`), 'utf8'),
    );
    expect(relay).toMatch(/BATCH_MAX ?= ?1\b/);
    expect(relay).not.toMatch(/BATCH_MAX ?= ?16\b/);
    expect(worker).toMatch(/ATTEMPTS_PER_SLOT ?= ?1\b/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a mechanism that does not exist is refused', async () => {
  const { code, stderr } = await runNode([BUILD, '/nowhere', 'rest', 'unrest']);
  expect([code, stderr]).toEqual([2, expect.stringMatching(/^usage: .*\nnames: .*rest/)]);
});
