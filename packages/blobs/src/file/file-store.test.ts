import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import {
  chmod,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import { blobStoreConformance } from '../../test/conformance.ts';
import { blobIdOf, BlobStoreUnavailableError, createBlobStore } from '../index.ts';
import type { BlobId, BlobStore } from '../index.ts';

const HOUR_MS = 60 * 60 * 1000;

const folders: string[] = [];
async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-blobs-'));
  folders.push(folder);
  return folder;
}
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

const pathOf = (root: string, id: string): string => join(root, id.slice(0, 2), id.slice(2, 4), id);

async function write(path: string, bytes: Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, bytes);
}

async function fileAsRoot(below: string): Promise<BlobStore> {
  const file = join(await newFolder(), 'file');
  await writeFile(file, 'not a folder');
  return createBlobStore(`file:${join(file, below)}`);
}

describe('a blob store in a folder', () => {
  blobStoreConformance({
    async open() {
      const root = join(await newFolder(), 'deep', 'blobs');
      return {
        connect: () => createBlobStore(`file:${root}`),
        age: (id, putAt) => utimes(pathOf(root, id), putAt, putAt),
        litter: (name, bytes) => write(join(root, name), bytes),
        litterAt: (name) => readFile(join(root, name)),
        close: () => Promise.resolve(),
      };
    },
    away: [
      ['a file where its folder should be', () => fileAsRoot('.')],
      ['a file above its folder', () => fileAsRoot('blobs')],
    ],
  });
});

test('a location of another form is refused in one line that names the forms', () => {
  const message = 'expected file:/path, file:relative/folder or s3://bucket/prefix, got "s3://b/\\n"';
  expect(() => createBlobStore('s3://b/\n')).toThrow(new Error(message));
});

/** Such a link leads to a disk that is not mounted. */
test.each(['.', 'blobs'])('a dangling link above its folder (%s) makes a put fail', async (below) => {
  const folder = await newFolder();
  await symlink(join(folder, 'missing'), join(folder, 'link'));
  const store = createBlobStore(`file:${join(folder, 'link', below)}`);
  await expect(store.put(Buffer.from('x'))).rejects.toThrow(BlobStoreUnavailableError);
});

describe('a folder of blobs', () => {
  let root: string;
  let store: BlobStore;
  beforeEach(async () => {
    root = join(await newFolder(), 'blobs');
    store = createBlobStore(`file:${root}`);
  });

  const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;
  const namesOf = async (id: BlobId): Promise<string[]> => readdir(dirname(pathOf(root, id)));

  test('is not made before the first blob', async () => {
    await store.read(blobIdOf(Buffer.from('x')));
    for await (const blob of store.list()) throw new Error(blob.id);
    expect(existsSync(root)).toBe(false);
  });

  test('is for its owner alone', async () => {
    const path = pathOf(root, await store.put(Buffer.from('x')));
    expect(await modeOf(path)).toBe(0o600);
    for (const folder of [dirname(path), dirname(dirname(path)), root])
      expect(await modeOf(folder)).toBe(0o700);
  });

  test('keeps a blob whose name was already there half-written as the whole of it', async () => {
    const bytes = randomBytes(1000);
    const id = blobIdOf(bytes);
    await write(pathOf(root, id), bytes.subarray(0, 500));
    await store.put(bytes);
    expect(await store.read(id)).toEqual(bytes);
  });

  test('does not write existing bytes again: it updates the date of the file', async () => {
    const bytes = randomBytes(1000);
    const path = pathOf(root, await store.put(bytes));
    const { ino } = await stat(path);
    await store.put(bytes);
    expect((await stat(path)).ino).toBe(ino);
  });

  test('does not list the file of an aborted put, and removes it when it is older than a day', async () => {
    const bytes = Buffer.from('x');
    const id = await store.put(bytes);
    const [young, old] = ['young', 'old'].map((name) =>
      join(dirname(pathOf(root, id)), `.writing-${id}.${name}`),
    );
    for (const [path = '', hours] of [[young, 23] as const, [old, 25] as const]) {
      await writeFile(path, 'half');
      const date = new Date(Date.now() - hours * HOUR_MS);
      await utimes(path, date, date);
    }
    const listed: BlobId[] = [];
    for await (const blob of store.list()) listed.push(blob.id);
    expect(listed).toEqual([id]);
    expect((await namesOf(id)).sort()).toEqual([`.writing-${id}.young`, id]);
  });

  test('has no temporary file after a put, nor after one that failed', async () => {
    const bytes = randomBytes(1000);
    const id = blobIdOf(bytes);
    await mkdir(join(pathOf(root, id), 'in the way'), { recursive: true });
    await expect(store.put(bytes)).rejects.toMatchObject({ name: 'BlobStoreUnavailableError' });
    expect(await namesOf(id)).toEqual([id]);
    await rm(pathOf(root, id), { recursive: true });
    await store.put(bytes);
    expect(await namesOf(id)).toEqual([id]);
  });

  test('puts again when the whole of it was removed meanwhile', async () => {
    const bytes = randomBytes(1000);
    const id = await store.put(bytes);
    await rm(root, { recursive: true });
    await store.put(bytes);
    expect(await store.read(id)).toEqual(bytes);
  });

  test('streams a blob to its end though it is removed meanwhile', async () => {
    const bytes = randomBytes(1024 * 1024);
    const id = await store.put(bytes);
    const opened = await store.open(id);
    await store.remove(id);
    expect(Buffer.concat((await opened?.stream.toArray()) as Buffer[]).equals(bytes)).toBe(true);
  });

  (process.getuid?.() === 0 ? test.skip : test)('that may not be written is away', async () => {
    await mkdir(root);
    await chmod(root, 0o500);
    await expect(store.put(Buffer.from('x'))).rejects.toMatchObject({ cause: { code: 'EACCES' } });
  });
});

(process.platform === 'linux' ? describe : describe.skip)('no file stays open', () => {
  const OPERATIONS = 50;
  const bytes = randomBytes(1000);
  let store: BlobStore;
  let id: BlobId;
  beforeEach(async () => {
    store = createBlobStore(`file:${join(await newFolder(), 'blobs')}`);
    id = await store.put(bytes);
  });

  const openFiles = async (): Promise<number> => (await readdir('/proc/self/fd')).length;

  test.each<[string, () => Promise<unknown>]>([
    ['a refused range', () => expect(store.open(id, { start: 1000, end: 1000 })).rejects.toThrow(RangeError)],
    ['a read', () => store.read(id)],
    ['a put of new bytes', () => store.put(randomBytes(1000))],
    ['a put of existing bytes', () => store.put(bytes)],
  ])('after %s', async (_what, operate) => {
    const before = await openFiles();
    for (let n = 0; n < OPERATIONS; n += 1) await operate();
    expect(await openFiles()).toBeLessThan(before + OPERATIONS / 2);
  });

  test('after a stream that is dropped unread', async () => {
    const before = await openFiles();
    const dropped: unknown[] = []; // keeps them from the garbage collection, which closes files
    for (let n = 0; n < OPERATIONS; n += 1) {
      const opened = await store.open(id);
      opened?.stream.destroy();
      dropped.push(opened);
    }
    const areClosed = async () => (await openFiles()) < before + OPERATIONS / 2;
    await waitFor(areClosed, { what: 'the files to be closed', timeoutMs: 10_000 });
    expect(dropped).toHaveLength(OPERATIONS);
  });
});

/** The synced paths in order, and whether the blob had its name by then. */
interface Sync {
  readonly path: string;
  readonly named: boolean;
}

(process.platform === 'linux' ? describe : describe.skip)('a put is durable', () => {
  let root: string;
  let syncs: Sync[];
  let beforeSync: (path: string) => Promise<void>;
  const bytes = Buffer.from('durable');
  const id = blobIdOf(bytes);
  const isTemporary = expect.stringMatching(
    new RegExp(`/\\.writing-${id}\\.[0-9a-f]{16}$`),
  ) as unknown as string;

  beforeEach(async () => {
    root = join(await newFolder(), 'blobs');
    const handle = await open('/dev/null');
    const prototype = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    // oxlint-disable-next-line typescript/unbound-method -- called with its own `this` below
    const { sync } = prototype;
    syncs = [];
    beforeSync = () => Promise.resolve();
    jest.spyOn(prototype, 'sync').mockImplementation(async function (this: FileHandle) {
      const path = await readlink(`/proc/self/fd/${this.fd}`);
      await beforeSync(path);
      syncs.push({ path, named: existsSync(pathOf(root, id)) });
      return sync.call(this);
    });
  });
  afterEach(() => void jest.restoreAllMocks());

  test('the bytes before they get their name, then the name, then the folders above it', async () => {
    await createBlobStore(`file:${root}`).put(bytes);
    const [mid, leaf] = [join(root, id.slice(0, 2)), join(root, id.slice(0, 2), id.slice(2, 4))];
    const written = syncs.findIndex(({ path }) => path.includes('.writing-'));
    expect(syncs.slice(0, written).map(({ path }) => path)).toEqual([dirname(root), root, mid]);
    expect(syncs.slice(written)).toEqual([
      { path: isTemporary, named: false },
      { path: leaf, named: true },
      { path: mid, named: true },
      { path: root, named: true },
    ]);
  });

  test('also what another process has just put: its date, its name and its folders', async () => {
    await createBlobStore(`file:${root}`).put(bytes);
    syncs = [];
    const other = createBlobStore(`file:${root}`);
    await other.put(bytes);
    const path = pathOf(root, id);
    const parents = [dirname(path), dirname(dirname(path)), root];
    expect(syncs.map((sync) => sync.path)).toEqual([path, ...parents]);
    syncs = [];
    await other.put(bytes);
    expect(syncs.map((sync) => sync.path)).toEqual([path, dirname(path)]);
  });

  test('also what a sweep of another process removes while its date is set', async () => {
    const store = createBlobStore(`file:${root}`);
    await store.put(bytes);
    let isRemoved = false;
    beforeSync = async (path) => {
      if (path !== pathOf(root, id) || isRemoved) return;
      isRemoved = true;
      await rm(path);
    };
    await store.put(bytes);
    expect(isRemoved).toBe(true);
    expect(await store.read(id)).toEqual(bytes);
  });
});
