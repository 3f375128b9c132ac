import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { createBlobStore, createObjectSource } from '@postrider/blobs';
import { LIMITS } from '@postrider/domain';
import type { SesMail } from '@postrider/domain';
import { MessageParser } from '@postrider/received-mail';
import { parseMessage } from '../../../../packages/received-mail/test/parse-message.ts';
import { createLogger, createMetrics, systemClock } from '@postrider/runtime';
import { createReceivedMessageStore, createSesMailStore, createSesMailWork } from '@postrider/store';
import type { SesMailWork } from '@postrider/store';
import {
  adminDatabaseUrl,
  cleanUpAfterEach,
  DIST,
  s3Error,
  serviceHang,
  setEnvironment,
  setup,
  startFakeS3,
  startFaultProxy,
  streamInto,
  waitFor,
} from '@postrider/testing';
import type { FakeS3 } from '@postrider/testing';
import { INBOX, setupInboundStore, SHARED_DOMAIN } from '../../test/setup-inbound-store.ts';
import { MailPipeline } from '../pipeline/mail-pipeline.ts';
import { SesReceiver } from './ses-receiver.ts';

/** Longer than any test. */
const HOUR_MS = 3_600_000;
/** Its first renewal comes soon. */
const SHORT_LEASE_MS = 30;
const CONTENT: SesMail['location'] = { kind: 'content', bytes: Buffer.from('Subject: Hi\r\n\r\nHello\r\n') };
const OBJECT: SesMail['location'] = { kind: 'object', bucket: 'mail-in', key: 'a' };

const proxy = setup(
  () => startFaultProxy(adminDatabaseUrl()),
  (opened) => opened.close(),
);
const { outside, database } = setupInboundStore((url) => proxy.url(url));
let s3: FakeS3;
let lines: string[];
const atEnd = cleanUpAfterEach();

beforeEach(async () => {
  proxy.restore();
  s3 = await startFakeS3();
  s3.objects.set('mail-in/a', {
    bytes: Buffer.from('Subject: In S3\r\n\r\nHello\r\n'),
    lastModified: new Date(),
  });
  lines = [];
  atEnd(() => s3.close(), setEnvironment(s3.environment));
});

/** Built like in `main.ts`, but the parser runs without a worker thread. */
function startReceiver(
  pollMs?: number,
  leaseMs?: number,
  parse: (raw: Buffer) => ReturnType<MessageParser['parse']> = async (raw) => parseMessage(raw),
  work: SesMailWork = createSesMailWork(database),
): SesReceiver {
  const logger = createLogger({ level: 'info', service: 'inbound', stream: streamInto(lines) });
  const metrics = createMetrics('inbound', { processMetrics: false });
  const blobs = createBlobStore('s3://blobs');
  const pipeline = new MailPipeline({
    blobs,
    logger,
    metrics,
    parser: { parse },
    store: createReceivedMessageStore(database, systemClock, [SHARED_DOMAIN]),
  });
  const receiver = new SesReceiver({
    pipeline,
    logger,
    metrics,
    work,
    objects: createObjectSource({ bytesMax: LIMITS.receivedBytes }),
    ...(pollMs === undefined ? {} : { pollMs }),
    ...(leaseMs === undefined ? {} : { leaseMs }),
  });
  receiver.start();
  atEnd(
    () => blobs.close(),
    () => receiver.stop(),
  );
  return receiver;
}

/** Stores the row, like the API. */
async function keep(location: SesMail['location'], id = 'sns-1'): Promise<void> {
  const mail = { providerMessageId: 'ses-1', source: 'ann@shop.example', recipients: [INBOX] };
  await createSesMailStore(database).add(id, { ...mail, verdicts: {}, location });
}

const count = async (sql: string) => {
  const [row] = await outside.query<{ n: number }>(`select count(*)::int as n from ${sql}`);
  return row?.n ?? 0;
};
const stored = async () =>
  waitFor(async () => (await count('messages')) === 1 && (await count('ses_mail')) === 0, {
    what: 'the message to be stored, and its row to end',
  });
const said = async (words: string) =>
  waitFor(() => lines.some((line) => line.includes(words)), { what: `a line with ${words}` });

test('receives the mail that waits at its start, and mail that comes later', async () => {
  await keep(CONTENT);
  startReceiver();
  await stored();
  await keep(OBJECT, 'sns-2');
  await waitFor(async () => (await count('messages')) === 2, { what: 'the second message' });
});

test('claims more at once when a message in flight has ended', async () => {
  for (let n = 1; n <= 6; n += 1) await keep(OBJECT, `sns-${n}`);
  startReceiver(HOUR_MS);
  await waitFor(async () => (await count('ses_mail')) === 0, { what: 'more than are held at a time' });
});

test('has at most four messages in flight, and defers them when it stops', async () => {
  s3.fail(serviceHang, { operation: 'GetObject' });
  for (let n = 1; n <= 6; n += 1) await keep(OBJECT, `sns-${n}`);
  const receiver = startReceiver(1);
  await s3.waitForRequests('GetObject', 4);
  expect(await count('ses_mail where claim > 0')).toBe(4);
  await receiver.stop();
  expect(await count('ses_mail')).toBe(6);
  expect(await count(`ses_mail where due_at > now() + interval '30 s'`)).toBe(0);
  expect(await count('messages')).toBe(0);
});

test.each([
  ['in S3', OBJECT],
  ['in the row', CONTENT],
])('mail that is claimed during a stop is due again at once: mail %s', async (_where, location) => {
  await keep(location);
  const work = createSesMailWork(database);
  await new Promise<void>((resolve) => {
    const receiver = startReceiver(HOUR_MS, undefined, undefined, {
      ...work,
      async claim(limits) {
        const claimed = await work.claim(limits);
        resolve(receiver.stop());
        return claimed;
      },
    });
  });
  expect(s3.requests).toEqual([]);
  expect(await count('ses_mail where claim = 1 and due_at <= now()')).toBe(1);
  expect(lines).toEqual([]);
});

test('the receiver renews the lease of a message that takes longer', async () => {
  s3.fail(serviceHang, { operation: 'GetObject' });
  await keep(OBJECT);
  startReceiver(HOUR_MS, 3_000); // it never claims again
  await s3.waitForRequests('GetObject', 1);
  const [row] = await outside.query<{ due: string }>('select due_at::text as due from ses_mail');
  const renewed = async () =>
    (await count(`ses_mail where claim = 1 and due_at > '${row?.due ?? ''}'`)) === 1;
  await waitFor(renewed, { what: 'the same claim to last longer' });
});

test('a message that fails is put back only when the renewal of its lease has ended', async () => {
  const work = createSesMailWork(database);
  const { promise: failed, resolve: fail } = Promise.withResolvers<void>();
  const { promise: renewed, resolve: renew } = Promise.withResolvers<void>();
  s3.fail((response) => void failed.then(() => s3Error(403, 'AccessDenied')(response)), {
    operation: 'GetObject',
  });
  const steps: string[] = [];
  const defer: SesMailWork['defer'] = async (mail, delayMs) => {
    if (delayMs === SHORT_LEASE_MS) {
      steps.push('the renewal begins');
      await renewed;
      steps.push('the renewal ends');
    } else steps.push('the message is put back');
    await work.defer(mail, delayMs);
  };
  await keep(OBJECT);
  startReceiver(HOUR_MS, SHORT_LEASE_MS, undefined, { ...work, defer });
  await waitFor(() => steps.length === 1, { what: 'the renewal to begin' });
  fail();
  await said('"reason":"s3"');
  expect(await count('ses_mail')).toBe(1); // time in which it must not be put back
  renew();
  await waitFor(() => steps.length === 3, { what: 'the message to be put back' });
  expect(steps).toEqual(['the renewal begins', 'the renewal ends', 'the message is put back']);
});

test('mail that fails is put back for 1, 2, 4 … 60 seconds', async () => {
  s3.fail(s3Error(403, 'AccessDenied'), { operation: 'GetObject' });
  await keep(OBJECT);
  const work = createSesMailWork(database);
  const seconds: number[] = [];
  const defer: SesMailWork['defer'] = async (mail, delayMs) => {
    seconds.push(delayMs / 1_000);
    await work.defer(mail, seconds.length < 8 ? 0 : HOUR_MS);
  };
  startReceiver(10, HOUR_MS, undefined, { ...work, defer });
  await waitFor(() => seconds.length === 8, { what: 'eight tries' });
  expect(seconds).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
});

test('mail that fails for four days is refused, logged and counted; other mail is tried again', async () => {
  s3.fail(s3Error(403, 'AccessDenied'), { operation: 'GetObject' });
  await keep(OBJECT, 'sns-1');
  await keep(OBJECT, 'sns-2');
  await outside.query(
    `update ses_mail set claim = case notification_id when 'sns-1' then 5760 else 5759 end`,
  );
  startReceiver(HOUR_MS);
  await said('"reason":"tried_out"');
  await said('"reason":"s3"');
  expect(await outside.query('select notification_id as id from ses_mail')).toEqual([{ id: 'sns-2' }]);
  const told = lines.filter((line) => line.includes('message.refused'));
  expect(told).toEqual([expect.stringContaining('"sns_message_id":"sns-1"')]);
});

describe('mail waits during an outage, and is stored afterwards:', () => {
  test('Postgres', async () => {
    await keep(CONTENT);
    proxy.takeAway();
    startReceiver(10);
    await said('mail of SES not claimed');
    await waitFor(() => proxy.refused >= 4, { what: 'more claims, or counts, that fail' });
    proxy.restore();
    await stored();
    await said('mail of SES claimed again');
    expect(lines.filter((line) => line.includes('mail of SES not claimed'))).toHaveLength(1);
  });

  test('Postgres, with a message in flight: the message is due again after its lease', async () => {
    s3.fail(
      (response) => {
        proxy.takeAway();
        s3Error(404, 'NoSuchKey')(response);
      },
      { operation: 'GetObject', times: 1 },
    );
    await keep(OBJECT);
    startReceiver(10);
    await said('mail of SES left to its lease');
    proxy.restore();
    expect(await count('ses_mail where claim = 1 and due_at > now()')).toBe(1);
    await outside.query('update ses_mail set due_at = now()');
    await stored();
  });

  test('the blob store', async () => {
    s3.fail(s3Error(503, 'SlowDown'), { operation: 'PutObject' });
    await keep(CONTENT);
    startReceiver();
    await said('"reason":"blobs"');
    expect(await count('messages')).toBe(0);
    s3.heal();
    await stored();
  });

  test('the worker threads of the parser are closed: the message is deferred and tried again', async () => {
    const parser = new MessageParser({
      threads: 1,
      timeoutMs: HOUR_MS,
      memoryMb: 64,
      script: join(DIST, 'parse-thread.js'),
      onThreadLost: () => undefined,
    });
    await parser.close();
    await keep(CONTENT);
    const receiver = startReceiver(10, HOUR_MS, (raw) => parser.parse(raw, 'a'));
    await waitFor(async () => (await count('ses_mail where claim > 1')) === 1, { what: 'a second try' });
    await receiver.stop();
    expect(await count(`ses_mail where due_at < now() + interval '1 minute'`)).toBe(1);
    expect(await count('messages')).toBe(0);
    startReceiver();
    await outside.query('update ses_mail set due_at = now()');
    await stored();
  });

  test('the bucket: the delay grows up to one minute', async () => {
    s3.fail(s3Error(403, 'AccessDenied'), { operation: 'GetObject' });
    await keep(OBJECT);
    await outside.query('update ses_mail set claim = 40');
    startReceiver();
    await said('"reason":"s3"');
    await waitFor(
      async () =>
        (await count(`ses_mail where due_at between now() + interval '30 s' and now() + interval '60 s'`)) ===
        1,
      { what: 'it to be put back for a minute' },
    );
    s3.heal();
    await outside.query('update ses_mail set due_at = now()');
    await stored();
  });
});
