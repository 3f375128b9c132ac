import { createHash } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { placeCluster } from './placement.ts';

(process.getuid?.() === 0 ? describe : describe.skip)('a cluster below a closed home of root', () => {
  let home: string;
  let instead: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'placement-')); // mode 0700
    const name = createHash('sha256').update(join(home, 'pg')).digest('hex').slice(0, 12);
    instead = `/var/tmp/postrider-${name}`;
  });
  afterEach(() => {
    for (const folder of [home, instead]) rmSync(folder, { recursive: true });
  });

  test('has the folder that an earlier start gave it', () => {
    mkdirSync(instead, { mode: 0o755 });
    expect(placeCluster(join(home, 'pg')).dataDir).toBe(join(instead, 'pg'));
  });

  test.each<[string, () => void]>([
    [
      'of another user',
      () => {
        mkdirSync(instead);
        chownSync(instead, 54_321, 54_321);
      },
    ],
    [
      'that others may write to',
      () => {
        mkdirSync(instead);
        chmodSync(instead, 0o777);
      },
    ],
    ['behind a link', () => symlinkSync(home, instead)],
  ])('does not get a folder %s', (_what, make) => {
    make();
    expect(() => placeCluster(join(home, 'pg'))).toThrow(
      `${instead} does not belong to root alone; remove it`,
    );
  });
});
