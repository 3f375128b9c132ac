import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createInterface } from 'node:readline/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import { build } from 'esbuild';
import { lacksSmallDisk, mountSmallDisk } from './small-disk.ts';

const MIB = 1024 * 1024;

const isMounted = (folder: string): boolean => readFileSync('/proc/mounts', 'utf8').includes(` ${folder} `);

(lacksSmallDisk() === null ? describe : describe.skip)('a small disk', () => {
  test('takes not a byte once it is full, and everything again when it is freed', async () => {
    const disk = mountSmallDisk(1);
    const file = join(disk.folder, 'file');
    try {
      expect(disk.fill()).toBe(MIB);
      expect(() => writeFileSync(file, 'x')).toThrow('ENOSPC');
      disk.free();
      writeFileSync(file, Buffer.alloc(MIB / 2));
      expect(disk.fill()).toBe(MIB / 2);
    } finally {
      await disk.unmount();
    }
    expect(isMounted(disk.folder)).toBe(false);
    expect(existsSync(disk.folder)).toBe(false);
  });

  describe('of a process that is killed', () => {
    let folder: string;
    beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'postrider-small-disk-'))));
    afterAll(() => rmSync(folder, { recursive: true }));

    test('goes with it', async () => {
      const outfile = join(folder, 'holder.mjs');
      const contents = `
        import { mountSmallDisk } from './small-disk.ts';
        console.log(mountSmallDisk(1).folder);
        process.stdin.resume();`;
      const resolveDir = fileURLToPath(new URL('.', import.meta.url));
      await build({
        stdin: { contents, loader: 'ts', resolveDir },
        bundle: true,
        platform: 'node',
        format: 'esm',
        outfile,
      });
      const holder = spawn(process.execPath, [outfile], { stdio: ['pipe', 'pipe', 'inherit'] });
      const [mounted] = (await once(createInterface({ input: holder.stdout }), 'line')) as [string];
      expect(isMounted(mounted)).toBe(true);
      holder.kill('SIGKILL');
      await waitFor(() => !isMounted(mounted) && !existsSync(mounted), { what: 'the disk to be gone' });
    });
  });
});
