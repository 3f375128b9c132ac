import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { build } from 'esbuild';
import { blobIdOf, createBlobStore } from '../index.ts';
import type { BlobId } from '../index.ts';

/* Uses a blob folder in a real process. The test kills the process or limits its file size. */

/** Puts blobs without end, four at a time, and prints the id of each durable blob. */
const PUTTER = `
import { randomBytes, randomInt } from 'node:crypto';
import { createFileStore } from './file-store.ts';
const store = createFileStore(process.argv[2]);
const putForEver = async () => {
  for (;;) console.log(await store.put(randomBytes(randomInt(1, 2_000_000))));
};
await Promise.all([putForEver(), putForEver(), putForEver(), putForEver()]);
`;

/** Puts a small blob, one above the file-size limit, and a small one. Prints the result of each. */
const FULL_DISK = `
import { createFileStore } from './file-store.ts';
const store = createFileStore(process.argv[2]);
for (const size of [1000, 1_000_000, 2000]) {
  console.log(await store.put(Buffer.alloc(size)).catch((error) => error.name + ' ' + error.cause.code));
}
`;

let scripts: string;
beforeAll(async () => {
  scripts = await mkdtemp(join(tmpdir(), 'postrider-blobs-scripts-'));
  const resolveDir = fileURLToPath(new URL('.', import.meta.url));
  for (const [name, contents] of Object.entries({ putter: PUTTER, fullDisk: FULL_DISK })) {
    await build({
      stdin: { contents, loader: 'ts', resolveDir },
      bundle: true,
      platform: 'node',
      format: 'esm',
      outfile: join(scripts, `${name}.mjs`),
    });
  }
});
afterAll(() => rm(scripts, { recursive: true }));

let root: string;
const children: ChildProcess[] = [];
beforeEach(async () => void (root = await mkdtemp(join(tmpdir(), 'postrider-blobs-'))));
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await rm(root, { recursive: true });
});

async function listed(): Promise<BlobId[]> {
  const ids: BlobId[] = [];
  for await (const { id } of createBlobStore(`file:${root}`).list()) ids.push(id);
  return ids;
}

async function temporaryFiles(): Promise<string[]> {
  const paths = await readdir(root, { recursive: true });
  return paths.filter((path) => basename(path).startsWith('.writing-'));
}

/**
 * Kills the process after this many puts.
 * @returns the ids that it called durable
 */
async function putAndKill(puts: number): Promise<string[]> {
  const child = spawn(process.execPath, [join(scripts, 'putter.mjs'), root], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const named: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    named.push(line);
    if (named.length === puts) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return named;
}

describe('a process killed in the middle of puts', () => {
  test('leaves no partial blob, and keeps every blob that it called durable', async () => {
    const durable: string[] = [];
    // Repeats until a kill surely hit the middle of a file.
    for (let puts = 5; (await temporaryFiles()).length === 0 || puts < 10; puts += 1) {
      expect(puts).toBeLessThan(50);
      durable.push(...(await putAndKill(puts)));
    }
    const ids = await listed();
    expect(ids.length).toBeGreaterThanOrEqual(durable.length);
    expect(ids).toEqual(expect.arrayContaining(durable));
    for (const id of ids) {
      expect(blobIdOf(await readFile(join(root, id.slice(0, 2), id.slice(2, 4), id)))).toBe(id);
    }
  });
});

describe('a process that may write no more of a file', () => {
  test('reports that the store is away, leaves no part of the blob, and stores the next one', async () => {
    const command = `ulimit -f 500; exec "$0" "$1" "$2"`; // blocks of 512 or 1024 bytes: 250 or 500 KB
    const child = spawn('sh', ['-c', command, process.execPath, join(scripts, 'fullDisk.mjs'), root], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) lines.push(line);
    const [small, next] = [1000, 2000].map((size) => blobIdOf(Buffer.alloc(size)));
    expect(lines).toEqual([small, 'BlobStoreUnavailableError EFBIG', next]);
    expect((await listed()).sort()).toEqual([small, next].sort());
    expect(await temporaryFiles()).toEqual([]);
  });
});
