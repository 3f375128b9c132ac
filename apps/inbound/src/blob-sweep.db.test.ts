import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { blobIdOf, createBlobStore } from '@postrider/blobs';
import type { BlobId, BlobStore } from '@postrider/blobs';
import { parseMessage } from '../../../packages/received-mail/test/parse-message.ts';
import { createLogger, createMetrics, systemClock } from '@postrider/runtime';
import { createReceivedMessageStore, createSweptBlobs, SWEEP_LEASE_MS } from '@postrider/store';
import type { ReceivedMessageStore } from '@postrider/store';
import { cleanUpAfterEach, s3Error, setEnvironment, startFakeS3, streamInto } from '@postrider/testing';
import type { FakeS3 } from '@postrider/testing';
import { INBOX, openConnections, setupInboundStore, SHARED_DOMAIN } from '../test/setup-inbound-store.ts';
import { createBlobSweep } from './blob-sweep.ts';
import type { BlobSweepParts } from './blob-sweep.ts';
import { createMessageSink } from './pipeline/message-sink.ts';
import { MailPipeline } from './pipeline/mail-pipeline.ts';

const HOUR_MS = 3_600_000;
/** By this clock every blob is a day old. */
const TOMORROW = { now: () => new Date(Date.now() + 25 * HOUR_MS) };

const { outside, rows, database } = setupInboundStore();
let folder: string;
let blobs: BlobStore;
let lines: string[];
let metrics: ReturnType<typeof createMetrics<'inbound'>>;
const atEnd = cleanUpAfterEach();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postrider-sweep-'));
  blobs = createBlobStore(`file:${folder}`);
  lines = [];
  metrics = createMetrics('inbound', { processMetrics: false });
  atEnd(() => rm(folder, { recursive: true }));
});

function keptLogger() {
  return createLogger({ level: 'info', service: 'inbound', stream: streamInto(lines) });
}

const newSweep = (parts: Partial<BlobSweepParts> = {}) =>
  createBlobSweep({
    store: createSweptBlobs(database),
    blobs,
    clock: systemClock,
    logger: keptLogger(),
    metrics,
    ...parts,
  });

async function makeSweepDue(): Promise<void> {
  await outside.query(
    'insert into blob_sweeps (due_at) values (now()) on conflict (id) do update set due_at = now()',
  );
}

/** Runs a sweep now, even when none is due. */
async function sweep(parts: Partial<BlobSweepParts> = {}): Promise<void> {
  await makeSweepDue();
  await newSweep(parts).sweepIfDue();
}

/** Puts a blob and dates it back by this many hours. */
async function blobOfAge(hours: number, bytes = randomBytes(20)): Promise<BlobId> {
  const id = await blobs.put(bytes);
  const putAt = new Date(Date.now() - hours * HOUR_MS);
  await utimes(join(folder, id.slice(0, 2), id.slice(2, 4), id), putAt, putAt);
  return id;
}

async function idsIn(store: BlobStore): Promise<BlobId[]> {
  const ids: BlobId[] = [];
  for await (const { id } of store.list()) ids.push(id);
  return ids.sort();
}

/** The real message sink. `beforeStore` runs each time before Postgres stores a message. */
function sinkWith({
  blobStore = blobs,
  beforeStore,
}: { readonly blobStore?: BlobStore; readonly beforeStore?: () => Promise<void> } = {}) {
  const real = createReceivedMessageStore(database, systemClock, [SHARED_DOMAIN]);
  const store: ReceivedMessageStore = {
    ...real,
    async receive(message, claim) {
      await beforeStore?.();
      return real.receive(message, claim);
    },
  };
  const pipeline = new MailPipeline({
    store,
    blobs: blobStore,
    logger: keptLogger(),
    metrics,
    parser: { parse: parseMessage },
  });
  return createMessageSink({
    store,
    pipeline,
    screening: {
      screen: async () => ({ auth: { spf: 'none', dkim: 'none', dmarc: 'none' }, heldReason: null }),
    },
  });
}

/** Receives a new message with this attachment. */
async function receive(attachment: Buffer, sink = sinkWith()): Promise<string> {
  const raw = Buffer.from(
    [
      'From: ann@shop.example',
      `Subject: ${randomBytes(8).toString('hex')}`,
      'Content-Type: application/octet-stream',
      'Content-Disposition: attachment; filename=a',
      'Content-Transfer-Encoding: base64',
      '',
      attachment.toString('base64'),
      '',
    ].join('\r\n'),
  );
  const result = await sink.receive(raw, {
    mailFrom: 'ann@shop.example',
    recipients: [INBOX],
    traceBytes: 0,
    sessionId: 's',
    client: '192.0.2.1',
    remoteAddress: '192.0.2.1',
    helo: 'client.example',
    tls: false,
  });
  return result.kind;
}

/**
 * Lists missing blobs that a row names. It locks the rows meanwhile, so that no sweep can take their blobs.
 */
async function lost(): Promise<string[]> {
  const session = await database.pool.connect();
  try {
    await session.query('begin');
    const { rows: messages } = await session.query<{ id: string; blob: BlobId }>(
      'select id, blob from messages for key share',
    );
    const { rows: files } = await session.query<{ blob: BlobId }>(
      'select blob from message_attachments where message_id = any ($1)',
      [messages.map(({ id }) => id)],
    );
    const missing = await Promise.all(
      [...messages, ...files].map(async ({ blob }) => ((await blobs.sizeOf(blob)) === null ? [blob] : [])),
    );
    return missing.flat();
  } finally {
    await session.query('rollback');
    session.release();
  }
}

async function counted(name: string): Promise<Record<string, number>> {
  const found = await metrics.registry.getSingleMetric(name)?.get();
  return Object.fromEntries(
    (found?.values ?? []).flatMap(({ labels, value }) =>
      value > 0 ? [[labels['result'] ?? '', value]] : [],
    ),
  );
}

describe('a sweep', () => {
  test('removes and counts blobs that are older than a day and that no row names', async () => {
    const [raw, file] = [await blobOfAge(30), await blobOfAge(30)];
    await rows.message({ blob: raw, attachments: [{ blob: file }] });
    const young = await blobOfAge(23);
    for (let n = 0; n < 3; n += 1) await blobOfAge(25);
    await sweep();
    expect(await idsIn(blobs)).toEqual([raw, file, young].sort());
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { msg: 'blob sweep done', removed: 3, steps_skipped: 0 },
    ]);
    expect(await counted('postrider_blob_sweeps_total')).toEqual({ done: 1 });
    expect(await counted('postrider_blobs_swept_total')).toEqual({ '': 3 });
  });

  test('removes the bytes of a message and an inbox that were deleted', async () => {
    expect(await receive(Buffer.from('to be deleted'))).toBe('stored');
    const ids = await idsIn(blobs);
    expect(ids).toHaveLength(2);
    await outside.query('delete from messages'); // as a relay does once an inbox is deleted
    await outside.query('delete from inboxes');
    await sweep({ clock: TOMORROW });
    expect(await idsIn(blobs)).toEqual([]);
  });

  test('of a database that never swept removes nothing: a restore may still fill it', async () => {
    const id = await blobOfAge(25);
    await outside.query('delete from blob_sweeps');
    await newSweep().sweepIfDue();
    await newSweep().sweepIfDue();
    expect(await idsIn(blobs)).toEqual([id]);
    expect(lines).toEqual([]);
  });

  test('runs in one process of several, and not again for hours', async () => {
    await blobOfAge(25);
    await makeSweepDue();
    await Promise.all([newSweep().sweepIfDue(), newSweep().sweepIfDue(), newSweep().sweepIfDue()]);
    expect(lines).toHaveLength(1);
    const next = await blobOfAge(25);
    await newSweep().sweepIfDue();
    expect(await idsIn(blobs)).toEqual([next]);
  });

  test('skips blobs while a message is being stored, and the next sweep removes them', async () => {
    await blobOfAge(25);
    const storing = await database.pool.connect();
    await storing.query('begin; select from swept_blobs for key share');
    await sweep();
    await storing.query('rollback');
    storing.release();
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([{ removed: 0, steps_skipped: 1 }]);
    expect(await idsIn(blobs)).toHaveLength(1);
    await sweep();
    expect(await idsIn(blobs)).toEqual([]);
  });

  test('starts no removal after a stop, and leaves no lease', async () => {
    for (let n = 0; n < 30; n += 1) await blobOfAge(25);
    const sweeping = newSweep({
      blobs: {
        list: () => blobs.list(),
        async remove(id) {
          await sweeping.stop();
          await blobs.remove(id);
        },
      },
    });
    await makeSweepDue();
    await sweeping.sweepIfDue();
    expect(await idsIn(blobs)).toHaveLength(29);
    expect(await outside.query('select from swept_blobs where leased_until > now()')).toEqual([]);
  });
});

test('a sweep starts no removal after half of its lease, and the next sweep removes the rest', async () => {
  for (let n = 0; n < 30; n += 1) await blobOfAge(25);
  const monotonicMs = performance.now.bind(performance);
  let aheadMs = 0;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => monotonicMs() + aheadMs);
  atEnd(() => clock.mockRestore());
  const remove = async (id: BlobId) => {
    aheadMs = SWEEP_LEASE_MS / 2;
    await blobs.remove(id);
  };
  await sweep({ blobs: { list: () => blobs.list(), remove } });
  expect(await idsIn(blobs)).toHaveLength(29);
  expect(await outside.query('select from swept_blobs where leased_until > now()')).toEqual([]);
  await sweep();
  expect(await idsIn(blobs)).toEqual([]);
});

describe('a message repeats bytes that a sweep has found', () => {
  const bytes = Buffer.from('a logo in a signature');
  const id = blobIdOf(bytes);

  /** The real blob store. `then` runs around the removal of this blob. */
  const removing = (then: (remove: () => Promise<void>) => Promise<unknown>) => ({
    list: () => blobs.list(),
    async remove(which: BlobId) {
      if (which === id) await then(() => blobs.remove(which));
      else await blobs.remove(which);
    },
  });

  test('before the sweep takes them: the bytes stay', async () => {
    await blobOfAge(25, bytes);
    const store = createSweptBlobs(database);
    const take = async (ids: readonly string[]) => {
      expect(ids).toContain(id);
      expect(await receive(bytes)).toBe('stored');
      return store.take(ids);
    };
    await sweep({ store: { ...store, take } });
    expect(await lost()).toEqual([]);
  });

  test('before their removal: the message must come again, and is stored then', async () => {
    await blobOfAge(25, bytes);
    const answers: string[] = [];
    await sweep({
      blobs: removing(async (remove) => {
        answers.push(await receive(bytes));
        await remove();
        answers.push(await receive(bytes));
      }),
    });
    expect(answers).toEqual(['later', 'later']);
    expect(await outside.query('select from messages')).toEqual([]);
    expect(await receive(bytes)).toBe('stored');
    expect(await lost()).toEqual([]);
  });

  test('put before their removal: the message puts them again', async () => {
    await blobOfAge(25, bytes);
    let swept = false;
    const beforeStore = async () => {
      if (!swept) await sweep({ clock: TOMORROW });
      swept = true;
    };
    expect(await receive(bytes, sinkWith({ beforeStore }))).toBe('stored');
    expect(swept).toBe(true);
    expect(await lost()).toEqual([]);
    expect(await outside.query('select from messages')).toHaveLength(1);
    expect(await outside.query('select from events')).toHaveLength(1);
  });

  test('and cannot put them again: neither it nor another message is stored without its bytes', async () => {
    await blobOfAge(25, bytes);
    let puts = 0;
    const failing = {
      ...blobs,
      put: async (some: Buffer) => {
        puts += 1;
        if (puts > 2) throw new Error('the process is out of luck');
        return blobs.put(some);
      },
    };
    const store = createSweptBlobs(database);
    const take = async (ids: readonly string[]) => store.take(ids.filter((each) => each === id));
    const beforeStore = () => sweep({ clock: TOMORROW, store: { ...store, take } });
    const answers: string[] = [];
    // The other message has put the same bytes before the sweep, and is stored after this failure.
    const failMeanwhile = async () => {
      if (answers.length > 0) return;
      answers.push(await receive(bytes, sinkWith({ blobStore: failing, beforeStore })));
    };
    expect(await receive(bytes, sinkWith({ beforeStore: failMeanwhile }))).toBe('stored');
    expect(answers).toEqual(['later']);
    expect(await lost()).toEqual([]);
  });

  test('after the process of the sweep was killed: it waits for the lease, and is stored then', async () => {
    await blobOfAge(25, bytes);
    await createSweptBlobs(database).take([id]); // and the process is gone
    expect(await receive(bytes)).toBe('later');
    await outside.query('update swept_blobs set leased_until = now()'); // ten minutes later
    expect(await receive(bytes)).toBe('stored');
    await sweep({ clock: TOMORROW });
    expect(await lost()).toEqual([]);
  });

  test('in any order, many times, with deletions: no row ever names a missing blob', async () => {
    const contents = [Buffer.from('one content'), Buffer.from('another')];
    let going = true;
    const untilDone = async (work: () => Promise<unknown>) => {
      while (going) await work();
    };
    const others = [
      untilDone(() => sweep({ clock: TOMORROW })),
      untilDone(() => sweep({ clock: TOMORROW })),
      untilDone(() => database.pool.query('delete from messages')),
    ];
    const answers: string[] = [];
    const receiving = contents.map(async (content) => {
      for (let n = 0; n < 60; n += 1) {
        answers.push(await receive(content));
        expect(await lost()).toEqual([]);
      }
    });
    await Promise.allSettled(receiving);
    going = false;
    await Promise.all(others);
    await Promise.all(receiving);
    expect(answers).toContain('stored');
    expect(await counted('postrider_blob_sweeps_total')).not.toHaveProperty('failed');
  });
});

describe('a blob store in S3', () => {
  let s3: FakeS3;
  beforeEach(async () => {
    s3 = await startFakeS3();
    atEnd(() => s3.close(), setEnvironment(s3.environment));
    blobs = createBlobStore('s3://blobs/mail');
    atEnd(() => blobs.close());
  });

  function add(count: number): void {
    const lastModified = new Date(Date.now() - 25 * HOUR_MS);
    for (let n = 0; n < count; n += 1) {
      const bytes = randomBytes(20);
      s3.objects.set(`blobs/mail/${blobIdOf(bytes)}`, { bytes, lastModified });
    }
  }

  test('is swept in pages of any number', async () => {
    add(1_234);
    await sweep();
    expect(s3.objects.size).toBe(0);
    expect(await counted('postrider_blobs_swept_total')).toEqual({ '': 1_234 });
  });

  test.each(['ListObjectsV2', 'DeleteObject'] as const)(
    'that is away (%s) is logged and counted, and the next sweep removes the blobs',
    async (operation) => {
      add(50);
      s3.fail(s3Error(403, 'AccessDenied'), { operation });
      await sweep();
      expect(lines.join('')).toContain('blob sweep failed');
      expect(await counted('postrider_blob_sweeps_total')).toEqual({ failed: 1 });
      expect(s3.objects.size).toBe(50);
      // Only the started removals keep their lease.
      const leased = await outside.query('select from swept_blobs where leased_until > now()');
      expect(leased.length).toBe(operation === 'DeleteObject' ? 8 : 0);
      s3.heal();
      await outside.query('update swept_blobs set leased_until = now()');
      await sweep();
      expect(s3.objects.size).toBe(0);
    },
  );
});

test('while Postgres is away a sweep removes nothing', async () => {
  await blobOfAge(25);
  const connections = openConnections(outside.url);
  const away = createSweptBlobs(connections);
  await connections.close();
  await newSweep({
    store: { begin: async () => true, take: async (ids) => away.take(ids), settle: async () => undefined },
  }).sweepIfDue();
  expect(await idsIn(blobs)).toHaveLength(1);
  expect(await counted('postrider_blob_sweeps_total')).toEqual({ failed: 1 });
});
