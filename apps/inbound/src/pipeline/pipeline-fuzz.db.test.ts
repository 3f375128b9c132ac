import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createBlobStore, type BlobId, type BlobStore } from '@postrider/blobs';
import { EVENT_DATA } from '@postrider/domain';
import { MessageParser } from '@postrider/received-mail';
import { createLogger, createMetrics, systemClock } from '@postrider/runtime';
import { SenderAuthentication } from '@postrider/screening';
import { createReceivedMessageStore } from '@postrider/store';
import { DIST, runs, startZoneServer, waitFor } from '@postrider/testing';
import type { SmtpClient } from '@postrider/testing';
import { mutated } from '../../../../packages/received-mail/test/mutated.ts';
import { testServers, type TestServer } from '../../test/test-server.ts';
import { setupInboundStore, SHARED_DOMAIN } from '../../test/setup-inbound-store.ts';
import { createMessageSink } from './message-sink.ts';
import { MailPipeline } from './mail-pipeline.ts';
import { Screening } from './screening.ts';

/** Each session has its own inbox and sends 10 to 20 messages. */
const SESSIONS = runs({ usual: 20, long: 1_000 });
/** Some of the messages are larger than this. */
const MESSAGE_BYTES_MAX = 32 * 1024;
/**
 * A quarter, 128 KiB, is reserved for small messages: two blocks of 64 KiB. The test sends one message at a
 * time, so it notices a block that is not released.
 */
const BYTES_IN_FLIGHT_MAX = 512 * 1024;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Every object made from a message: its bytes, its parsed form, and the stored message. */
const carried: WeakRef<object>[] = [];
function carry<Carried extends object>(value: Carried): Carried {
  carried.push(new WeakRef(value));
  return value;
}

const { outside, rows, database } = setupInboundStore();
let blobs: BlobStore;
let server: TestServer;
const lost: string[] = [];
const cleanups: (() => unknown)[] = [];

const pool = { threads: 2, timeoutMs: 60_000, memoryMb: 256 };
const metrics = createMetrics('inbound', { processMetrics: false });
const onThreadLost = (error: Error) => void lost.push(error.message);

/**
 * The sender of the corpus publishes quarantine. Its mail is held when the envelope has another sender or
 * none.
 */
async function startScreening() {
  const names = await startZoneServer({
    '_dmarc.sender.example': { TXT: ['v=DMARC1; p=quarantine'] },
    'sender.example': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
  });
  const authentication = new SenderAuthentication({
    authentication: { dnsServers: [names.address], timeoutMs: 5_000, spf: true },
    pool: {
      ...pool,
      script: join(DIST, 'authenticate-thread.js'),
      onThreadLost,
    },
  });
  cleanups.push(
    () => names.close(),
    () => authentication.close(),
  );
  const scanners = {
    virusScanner: null,
    spamScanner: null,
    triesUntilJudged: 3,
    required: true,
    onUnjudged: onThreadLost,
  };
  return new Screening({ metrics, authentication, ...scanners });
}

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-fuzz-'));
  blobs = createBlobStore(`file:${folder}`);
  const parser = new MessageParser({
    ...pool,
    script: join(DIST, 'parse-thread.js'),
    onThreadLost,
  });
  cleanups.push(
    () => rm(folder, { recursive: true }),
    () => parser.close(),
  );
  const store = createReceivedMessageStore(database, systemClock, [SHARED_DOMAIN]);
  const pipeline = new MailPipeline({
    store: { ...store, receive: (message, claim) => store.receive(carry(message), claim) },
    blobs: { put: (bytes) => blobs.put(carry(bytes)) },
    parser: { parse: async (...of) => carry(await parser.parse(...of)) },
    logger: createLogger({ level: 'error', service: 'inbound' }),
    metrics,
  });
  const sink = createMessageSink({ store, pipeline, screening: await startScreening() });
  server = await testServers((...added) => void cleanups.push(...added)).start({
    accepts: (recipient) => sink.accepts(recipient),
    receive: (raw, envelope) => sink.receive(raw, carry(envelope)),
    limits: { messageBytesMax: MESSAGE_BYTES_MAX, bytesInFlightMax: BYTES_IN_FLIGHT_MAX },
  });
});
afterAll(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Mail {
  readonly from: string;
  readonly to: (inbox: string) => string;
  /** Includes the line end before the final dot. */
  readonly content: Buffer;
  /** A failure shows this text beside the seed. All bytes would be megabytes. */
  readonly [fc.toStringMethod]: () => string;
}

const SENDERS = ['<ann@sender.example>', '<>', '<"a,b"@sender.example>', '<bounce+1@other.example>'];
const MALFORMED_SENDERS = ['ann@sender.example', '<ann@>'];
const RECIPIENTS = [(inbox: string) => inbox, (inbox: string) => `${inbox}+tag`.toUpperCase()];
const nobody = () => 'nobody';

const often = <T>(usual: readonly T[], seldom: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 15, arbitrary: fc.constantFrom(...usual) },
    { weight: 1, arbitrary: fc.constantFrom(...seldom) },
  );

const mail = fc
  .record({ from: often(SENDERS, MALFORMED_SENDERS), to: often(RECIPIENTS, [nobody]), raw: mutated })
  .map(({ from, to, raw }): Mail => {
    const isEnded = raw.length === 0 || raw.subarray(-2).toString() === '\r\n';
    const content = isEnded ? raw : Buffer.concat([raw, Buffer.from('\r\n')]);
    const beginning = JSON.stringify(content.toString('latin1', 0, 300));
    return { from, to, content, [fc.toStringMethod]: () => `${from} ${content.length} bytes ${beginning}` };
  });

/** The expected code: from docs/inbound.md, or from RFC 5321 for an invalid command. */
function codeFor({ from, to, content }: Mail): string {
  if (MALFORMED_SENDERS.includes(from)) return '501';
  if (to === nobody) return '550';
  return content.length > MESSAGE_BYTES_MAX ? '552' : '250';
}

/** @returns the code of the last answer */
async function send(client: SmtpClient, inbox: string, { from, to, content }: Mail): Promise<string> {
  for (const line of [`MAIL FROM:${from}`, `RCPT TO:<${to(inbox)}@${SHARED_DOMAIN}>`, 'DATA']) {
    const answer = await client.say(line);
    if (/^[23]/.test(answer)) continue;
    await client.say('RSET');
    return answer.slice(0, 3);
  }
  const stuffed = content.toString('latin1').replace(/(^|\r\n)\./g, '$1..');
  client.write(Buffer.from(`${stuffed}.\r\n`, 'latin1'));
  return (await client.answer()).slice(0, 3);
}

async function newInbox(id: string): Promise<string> {
  const accountId = await rows.account();
  await rows.inbox({ id, accountId, address: `${id}@${SHARED_DOMAIN}` });
  return accountId;
}

/** Identifies a message: the same bytes in the same envelope. */
const digestOf = (mailFrom: string, recipient: string, content: Buffer) =>
  createHash('sha256')
    .update(JSON.stringify([mailFrom, [recipient]]))
    .update(content)
    .digest('hex');

interface MessageRow {
  readonly id: string;
  readonly status: 'received' | 'held';
  readonly digest: string;
  readonly size: number;
  readonly blob: BlobId;
  readonly files: BlobId[];
}

/** Expects one record with its bytes for each distinct message. */
async function expectRecords(inbox: string, accepted: readonly Mail[]): Promise<MessageRow[]> {
  const records = await outside.query<MessageRow>(
    `select id, status, encode(content_digest, 'hex') as digest, size, blob,
       array(select f.blob from message_attachments f where f.message_id = m.id) as files
     from messages m where inbox_id = $1 order by id`,
    [inbox],
  );
  const contents = new Map(
    accepted.map(({ from, to, content }) => [
      digestOf(from.slice(1, -1), `${to(inbox)}@${SHARED_DOMAIN}`, content),
      content,
    ]),
  );
  expect(records.map(({ digest }) => digest).sort()).toEqual([...contents.keys()].sort());
  for (const { blob, digest, size, files } of records) {
    const raw = (await blobs.read(blob)) ?? Buffer.alloc(0);
    expect(raw.subarray(raw.length - size).equals(contents.get(digest) ?? Buffer.alloc(0))).toBe(true);
    for (const file of files) expect(await blobs.sizeOf(file)).not.toBeNull();
  }
  return records;
}

/** Expects one event for each record, valid by its schema. */
async function expectEvents(account: string, records: readonly MessageRow[]): Promise<void> {
  const events = await outside.query<{ type: 'message.received' | 'message.held'; data: string }>(
    'select type, data from events where account_id = $1',
    [account],
  );
  const told = events.map(({ type, data }) => ({ type, id: EVENT_DATA[type].parse(JSON.parse(data)).id }));
  const expected = records.map(({ id, status }) => ({ type: `message.${status}`, id }));
  expect(told.sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual(expected);
}

test('any mail: each 250 is one record and one event, other answers are documented, and no message stays in memory', async () => {
  let sessions = 0;
  const session = async (mails: Mail[]) => {
    const inbox = `ibx_fuzz_${(sessions += 1)}`;
    const account = await newInbox(inbox);
    const client = await server.greet();
    const answers: string[] = [];
    for (const each of mails) answers.push(await send(client, inbox, each));
    client.destroy();
    expect(answers).toEqual(mails.map(codeFor));
    const accepted = mails.filter((_, index) => answers[index] === '250');
    await expectEvents(account, await expectRecords(inbox, accepted));
    expect(lost).toEqual([]);
    server.received.length = 0;
  };
  // A failure shows seed and path, which repeat the run. Shrinking would exceed the time limit of Jest.
  await fc.assert(fc.asyncProperty(fc.array(mail, { minLength: 10, maxLength: 20 }), session), {
    numRuns: SESSIONS,
    endOnFailure: true,
  });
  expect(carried.length).toBeGreaterThan(SESSIONS * 10);
  await waitFor(
    () => {
      collectGarbage();
      return carried.every((value) => value.deref() === undefined);
    },
    { what: 'every message to leave the memory' },
  );
}, 180_000);
