import { randomBytes } from 'node:crypto';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { blobIdOf, BlobStoreUnavailableError } from '../src/index.ts';
import type { BlobId, BlobStore, ListedBlob } from '../src/index.ts';

/** A place for blobs, with ways to change it without the store. */
export interface StoreFixture {
  /** Opens a store on this place. A second store stands for another process. */
  connect(): BlobStore;
  /** Sets the put time of a blob. */
  age(id: BlobId, putAt: Date): Promise<void>;
  /** Writes bytes beside the blobs under a name that is no id. */
  litter(name: string, bytes: Buffer): Promise<void>;
  /** Reads the bytes under such a name; null when there are none. */
  litterAt(name: string): Promise<Buffer | null>;
  close(): Promise<void>;
}

export interface StoreUnderTest {
  open(): Promise<StoreFixture>;
  /** Ways in which a store can be away, each with a function that opens such a store. */
  readonly away: readonly (readonly [how: string, connect: () => Promise<BlobStore>])[];
}

const MIB = 1024 * 1024;
const LONG_AGO = new Date('2026-01-02T03:04:05.000Z');
const MISSING = blobIdOf(Buffer.from('never put'));

interface Setup {
  readonly fixture: StoreFixture;
  readonly store: BlobStore;
}

/** Tests the promises of `BlobStore` on any store. */
export function blobStoreConformance(kind: StoreUnderTest): void {
  let fixture: StoreFixture;
  let store: BlobStore;
  beforeEach(async () => {
    fixture = await kind.open();
    store = fixture.connect();
  });
  afterEach(() => fixture.close());
  const setup: Setup = {
    get fixture() {
      return fixture;
    },
    get store() {
      return store;
    },
  };
  describe('a blob that is put', () => putTests(setup));
  describe('a blob that is removed', () => removeTests(setup));
  describe('a stream', () => streamTests(setup));
  describe('a range', () => rangeTests(setup));
  describe('a blob that is not there', () => missingTests(setup));
  describe('text that is no id', () => strangeIdTests(setup));
  describe('the list', () => listTests(setup));
  describe('a store that is away', () => awayTests(kind));
}

async function all(blobs: AsyncIterable<ListedBlob>): Promise<ListedBlob[]> {
  const found: ListedBlob[] = [];
  for await (const blob of blobs) found.push(blob);
  return found;
}

async function streamed(store: BlobStore, id: BlobId, range?: { start: number; end: number }) {
  const opened = await store.open(id, range);
  if (opened === null) throw new Error('no such blob');
  return { size: opened.size, bytes: Buffer.concat((await opened.stream.toArray()) as Buffer[]) };
}

function putTests(setup: Setup): void {
  test.each([
    ['of text', Buffer.from('From: a@example.com\r\n\r\nGrüße')],
    ['of every byte', Buffer.from(Array.from({ length: 256 }, (_, n) => n))],
    ['without a byte', Buffer.alloc(0)],
    ['of 10 MiB', randomBytes(10 * MIB)],
  ])('%s is read back under its SHA-256, whole and as a stream', async (_what, bytes) => {
    const { store } = setup;
    const id = await store.put(bytes);
    expect(id).toBe(blobIdOf(bytes));
    expect((await store.read(id))?.equals(bytes)).toBe(true);
    const { size, bytes: found } = await streamed(store, id);
    expect(size).toBe(bytes.length);
    expect(found.equals(bytes)).toBe(true);
    expect(await store.sizeOf(id)).toBe(bytes.length);
  });

  test('has the standard SHA-256 as its id', () => {
    expect(blobIdOf(Buffer.from('abc'))).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
  });

  test('is seen by every other process', async () => {
    const bytes = randomBytes(1000);
    const id = await setup.store.put(bytes);
    expect(await setup.fixture.connect().read(id)).toEqual(bytes);
  });

  test('twice is stored once, with a new date', async () => {
    const { store, fixture } = setup;
    const bytes = randomBytes(1000);
    const id = await store.put(bytes);
    await fixture.age(id, LONG_AGO);
    expect(await all(store.list())).toEqual([{ id, putAt: LONG_AGO }]);
    expect(await store.put(bytes)).toBe(id);
    const [found, ...others] = await all(store.list());
    expect(others).toEqual([]);
    expect(found?.putAt.getTime()).toBeGreaterThan(LONG_AGO.getTime());
    expect(await store.read(id)).toEqual(bytes);
  });

  test('by two processes at once, many times, is stored once and whole', async () => {
    const { store, fixture } = setup;
    const bytes = randomBytes(100_000);
    const other = fixture.connect();
    const ids = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? store : other).put(bytes)),
    );
    expect(new Set(ids)).toEqual(new Set([blobIdOf(bytes)]));
    expect((await all(store.list())).map(({ id }) => id)).toEqual([blobIdOf(bytes)]);
    expect(await store.read(blobIdOf(bytes))).toEqual(bytes);
  });
}

function removeTests(setup: Setup): void {
  test('is gone, and can be put again', async () => {
    const { store } = setup;
    const bytes = randomBytes(1000);
    const kept = await store.put(randomBytes(1000));
    const id = await store.put(bytes);
    await store.remove(id);
    expect(await store.read(id)).toBeNull();
    expect((await all(store.list())).map((blob) => blob.id)).toEqual([kept]);
    await store.put(bytes);
    expect(await store.read(id)).toEqual(bytes);
  });
}

function streamTests(setup: Setup): void {
  test('arrives in chunks at the pace of the reader, never whole', async () => {
    const id = await setup.store.put(randomBytes(10 * MIB));
    const opened = await setup.store.open(id);
    if (opened === null) throw new Error('no such blob');
    let total = 0;
    let heldMost = 0;
    for await (const chunk of opened.stream as AsyncIterable<Buffer>) {
      total += chunk.length;
      await nextIteration();
      heldMost = Math.max(heldMost, chunk.length + opened.stream.readableLength);
    }
    expect(total).toBe(10 * MIB);
    expect(heldMost).toBeLessThan(MIB);
  });

  test('can be dropped in the middle of its stream', async () => {
    const { store } = setup;
    const id = await store.put(randomBytes(10 * MIB));
    const opened = await store.open(id);
    for await (const chunk of opened?.stream ?? []) {
      expect((chunk as Buffer).length).toBeGreaterThan(0);
      break;
    }
    expect(opened?.stream.destroyed).toBe(true);
    expect(await store.sizeOf(id)).toBe(10 * MIB);
  });
}

function rangeTests(setup: Setup): void {
  const bytes = Buffer.from('0123456789');

  test.each([
    [0, 0, '0'],
    [0, 9, '0123456789'],
    [3, 6, '3456'],
    [9, 9, '9'],
    [5, 9, '56789'],
    [5, 10, '56789'],
    [5, Number.MAX_SAFE_INTEGER, '56789'],
  ])('%d-%d has the bytes %s, and the size of the whole blob', async (start, end, expected) => {
    const id = await setup.store.put(bytes);
    expect(await streamed(setup.store, id, { start, end })).toEqual({
      size: 10,
      bytes: Buffer.from(expected),
    });
  });

  test('of a large blob has exactly its bytes', async () => {
    const large = randomBytes(3 * MIB);
    const id = await setup.store.put(large);
    const range = { start: 65_537, end: 2 * MIB };
    const found = await streamed(setup.store, id, range);
    expect(found.bytes.equals(large.subarray(range.start, range.end + 1))).toBe(true);
  });

  test.each([
    [10, 10],
    [11, 20],
    [5, 4],
    [-1, 4],
    [0.5, 4],
    [0, Number.NaN],
    [0, Infinity],
  ])('%d-%d is refused', async (start, end) => {
    const id = await setup.store.put(bytes);
    await expect(setup.store.open(id, { start, end })).rejects.toBeInstanceOf(RangeError);
  });

  test('of a blob without a byte is refused', async () => {
    const id = await setup.store.put(Buffer.alloc(0));
    await expect(setup.store.open(id, { start: 0, end: 0 })).rejects.toBeInstanceOf(RangeError);
  });

  test('of a missing blob is null', async () => {
    expect(await setup.store.open(MISSING, { start: 0, end: 0 })).toBeNull();
  });
}

function missingTests(setup: Setup): void {
  const expectNothing = async (store: BlobStore) => {
    expect(await store.open(MISSING)).toBeNull();
    expect(await store.read(MISSING)).toBeNull();
    expect(await store.sizeOf(MISSING)).toBeNull();
    await expect(store.remove(MISSING)).resolves.toBeUndefined();
  };

  test('reads as missing in an empty store', async () => {
    await expectNothing(setup.store);
    expect(await all(setup.store.list())).toEqual([]);
  });

  test('reads as missing beside other blobs', async () => {
    await setup.store.put(Buffer.from('another'));
    await expectNothing(setup.store);
  });
}

function strangeIdTests(setup: Setup): void {
  const hex = 'ab'.repeat(32);

  test.each([
    '',
    '.',
    '..',
    '/',
    'litter',
    '../litter',
    '../../litter',
    '../../../litter',
    hex.slice(1),
    `${hex}0`,
    `${hex}\n`,
    `/${hex.slice(1)}`,
    `../${hex.slice(3)}`,
    hex.toUpperCase(),
    'ｆ'.repeat(64),
  ])('%j reaches nothing', async (text) => {
    const { store, fixture } = setup;
    const [here, above] = ['litter', '../litter'];
    for (const name of [here, above]) await fixture.litter(name, Buffer.from('not yours'));
    await store.put(Buffer.from('a blob'));
    const id = text as BlobId;
    expect(await store.open(id)).toBeNull();
    expect(await store.open(id, { start: 0, end: 3 })).toBeNull();
    expect(await store.read(id)).toBeNull();
    expect(await store.sizeOf(id)).toBeNull();
    await expect(store.remove(id)).resolves.toBeUndefined();
    for (const name of [here, above]) expect(await fixture.litterAt(name)).toEqual(Buffer.from('not yours'));
  });

  test('in upper case does not lead to the blob of that id', async () => {
    const { store } = setup;
    const id = await store.put(Buffer.from('a blob'));
    const upper = id.toUpperCase() as BlobId;
    await store.remove(upper);
    expect(await store.read(upper)).toBeNull();
    expect(await store.read(id)).toEqual(Buffer.from('a blob'));
  });
}

function listTests(setup: Setup): void {
  test('has every blob with its date', async () => {
    const { store, fixture } = setup;
    const expected = new Map<BlobId, Date>();
    for (let n = 0; n < 20; n += 1) {
      const id = await store.put(Buffer.from(`blob ${n}`));
      const putAt = new Date(LONG_AGO.getTime() + n * 60_000);
      await fixture.age(id, putAt);
      expected.set(id, putAt);
    }
    const found = await all(fixture.connect().list());
    expect(found).toHaveLength(20);
    expect(new Map(found.map(({ id, putAt }) => [id, putAt]))).toEqual(expected);
  });

  test('has nothing that is no blob', async () => {
    const { store, fixture } = setup;
    const id = await store.put(Buffer.from('a blob'));
    const shard = `${id.slice(0, 2)}/${id.slice(2, 4)}`;
    const names = ['litter', `${id}.old`, id.toUpperCase(), `${id}0`].flatMap((name) => [
      name,
      `ab/${name}`,
      `${shard}/${name}`,
    ]);
    for (const name of names) await fixture.litter(name, Buffer.from('x'));
    expect((await all(store.list())).map((blob) => blob.id)).toEqual([id]);
  });

  test('continues when a listed blob is removed meanwhile', async () => {
    const { store } = setup;
    const ids = await Promise.all(Array.from({ length: 20 }, (_, n) => store.put(Buffer.from(`blob ${n}`))));
    const seen: BlobId[] = [];
    for await (const { id } of store.list()) {
      seen.push(id);
      await store.remove(id);
    }
    expect(seen.sort()).toEqual(ids.sort());
    expect(await all(store.list())).toEqual([]);
  });

  test('can be abandoned in the middle', async () => {
    const { store } = setup;
    await Promise.all(Array.from({ length: 20 }, (_, n) => store.put(Buffer.from(`blob ${n}`))));
    for await (const { id } of store.list()) {
      expect(id).toMatch(/^[0-9a-f]{64}$/);
      break;
    }
    expect(await all(store.list())).toHaveLength(20);
  });
}

function awayTests(kind: StoreUnderTest): void {
  const calls: readonly (readonly [name: string, call: (store: BlobStore) => Promise<unknown>])[] = [
    ['put', (store) => store.put(Buffer.from('a blob'))],
    ['open', (store) => store.open(MISSING)],
    ['open of a range', (store) => store.open(MISSING, { start: 0, end: 0 })],
    ['read', (store) => store.read(MISSING)],
    ['sizeOf', (store) => store.sizeOf(MISSING)],
    ['remove', (store) => store.remove(MISSING)],
    ['list', (store) => all(store.list())],
  ];

  describe.each(kind.away)('because of %s', (_how, connect) => {
    test.each(calls)('says so to %s, with the cause', async (_name, call) => {
      const store = await connect();
      const failure: unknown = await call(store).then(
        () => null,
        (error: unknown) => error,
      );
      expect(failure).toBeInstanceOf(BlobStoreUnavailableError);
      const { message, cause } = failure as BlobStoreUnavailableError;
      expect(message).toMatch(/^the blob store (file:|s3:\/\/)\S+ is not available \([^\n]+\)$/);
      expect(cause).toHaveProperty('message');
    });
  });
}
