import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  createSnsSigner,
  EICAR,
  fetchMetrics,
  s3Error,
  s3Hang,
  sesReceived,
  snsSamples,
  startFakeClamd,
  startFakeS3,
  startFaultProxy,
  waitFor,
} from '@postrider/testing';
import type {
  FakeClamd,
  FakeS3,
  FaultProxy,
  ReceivedWish,
  S3Operation,
  SnsSigner,
  SystemProcess,
} from '@postrider/testing';
import { fetchCounted } from './call-api.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/* Mail that SES receives: from the notification by SNS, through real processes and a bucket, to a webhook. */

const { notification } = snsSamples();
const BUCKET = 'mail-in';
const DOMAIN = 'inbound.postrider.example';
const PATIENCE_MS = 60_000;
const TEN_MIB = 10 * 1024 * 1024;

let folder: string;
let signer: SnsSigner;
let s3: FakeS3;
let clamd: FakeClamd;
let system: System;
let proxy: FaultProxy;
let all: SystemProcess;
let inbound: SystemProcess;
let made = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sns-'));
  signer = await createSnsSigner();
  const certificate = join(folder, 'sns.pem');
  writeFileSync(certificate, signer.certPem);
  s3 = await startFakeS3();
  clamd = await startFakeClamd();
  system = await startSystem({
    env: {
      ...s3.environment,
      SNS_TOPIC_ARNS: String(notification['TopicArn']),
      SNS_SIGNING_CERT_FILE: certificate,
      INBOUND_S3_BUCKETS: BUCKET,
      INBOUND_CLAMD: clamd.address,
      BLOB_STORE: 's3://blobs',
      SHUTDOWN_DEADLINE_MS: '10000',
    },
  });
  proxy = await startFaultProxy(system.db.url);
  [all] = await Promise.all([system.start('all', { ROLES: 'api,relay,worker' }), startInbound()]);
  await system.webhook('/hook');
});
afterAll(async () => {
  await system.close();
  await proxy.close();
  await s3.close();
  await clamd.close();
  rmSync(folder, { recursive: true });
});

/** Its connections to Postgres go through the proxy. */
async function startInbound(): Promise<void> {
  inbound = await system.start('inbound', { DATABASE_URL: proxy.url(system.db.url) });
}

async function call(method: string, path: string, body?: object): Promise<Readonly<Record<string, unknown>>> {
  const url = `http://127.0.0.1:${await all.port('api')}${path}`;
  const headers = { authorization: `Bearer ${system.apiKey}` };
  const json = body === undefined ? {} : { body: JSON.stringify(body) };
  const answer = await fetchCounted(url, { method, headers, ...json });
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as Readonly<Record<string, unknown>>;
}

/** An inbox of its own for one test. @returns its address. */
async function newInbox(): Promise<string> {
  made += 1;
  const address = `inbox-${made}@${DOMAIN}`;
  await call('POST', '/v1/inboxes', { email_address: address });
  return address;
}

interface Told {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>> & { readonly id: string; readonly received_for: string[] };
}

/** The events of an address, so far. */
function told(address: string): Told[] {
  return system.receiver.requests
    .map(({ body }) => JSON.parse(String(body)) as Told)
    .filter(({ data }) => data.received_for.includes(address));
}

const event = async (address: string) =>
  waitFor(() => told(address)[0], { what: `the event of ${address}`, timeoutMs: PATIENCE_MS });

function message(subject: string, body = 'It is late.'): Buffer {
  const fields = ['From: Ann <ann@shop.example>', `Subject: ${subject}`, 'Message-ID: <1@shop.example>'];
  return Buffer.from([...fields, '', body, ''].join('\r\n'));
}

/** Puts a message into a bucket. @returns where it is. */
function put(bytes: Buffer, bucket = BUCKET) {
  made += 1;
  const key = `mail/${made}`;
  s3.objects.set(`${bucket}/${key}`, { bytes, lastModified: new Date() });
  return { bucket, key };
}

const asked = (operation: S3Operation) =>
  s3.requests.filter((request) => request.operation === operation).length;

/** As SNS does. @param id the same for a notification that comes again. @returns the id. */
async function tell(wish: ReceivedWish, id = `sns-${(made += 1)}`): Promise<string> {
  const Timestamp = new Date().toISOString();
  const Message = JSON.stringify(sesReceived(wish));
  const answer = await fetch(`http://127.0.0.1:${await all.port('api')}/internal/ses/sns`, {
    method: 'POST',
    headers: { 'content-type': 'text/plain; charset=UTF-8' },
    body: JSON.stringify(signer.sign({ ...notification, Timestamp, MessageId: id, Message })),
  });
  expect([answer.status, await answer.text()]).toEqual([200, '{"received":true}']);
  return id;
}

const backlog = async () => {
  const [row] = await system.db.query<{ n: number }>('select count(*)::int as n from ses_mail');
  return row?.n;
};
const takenIn = async () =>
  waitFor(async () => (await backlog()) === 0, { what: 'all mail to be taken in', timeoutMs: PATIENCE_MS });

/** What the inbound process has counted. */
async function counted(sample: string): Promise<number> {
  return (await fetchMetrics(await inbound.port())).find(`postrider_inbound_messages_total{${sample}}`) ?? 0;
}

const messagesOf = async (address: string) => {
  const [row] = await system.db.query<{ n: number }>(
    'select count(*)::int as n from messages where $1 = any (received_for)',
    [address],
  );
  return row?.n;
};

/** Nothing is left to be told of an address but this. */
async function expectOnce(address: string): Promise<void> {
  await takenIn();
  await event(address);
  await system.drained();
  expect(told(address)).toHaveLength(1);
  expect(await messagesOf(address)).toBe(1);
}

describe('mail that SES has put into a bucket', () => {
  test('arrives as message.received, with the bytes of SES, its verdicts, and nothing asked of our scanners', async () => {
    const address = await newInbox();
    const bytes = message('In a bucket', EICAR);
    const verdicts = { spfVerdict: 'GRAY', dkimVerdict: 'PASS', dmarcVerdict: 'PROCESSING_FAILED' };
    await tell({ recipients: [address], object: put(bytes), verdicts, source: 'bounce@shop.example' });
    const { type, data } = await event(address);
    expect({ type, data }).toMatchObject({
      type: 'message.received',
      data: {
        status: 'received',
        subject: 'In a bucket',
        received_for: [address],
        size: bytes.length,
        auth: { spf: 'neutral', dkim: 'pass', dmarc: 'temperror' },
      },
    });
    const link = await call('GET', `/v1/inbound/messages/${data.id}/raw`);
    const raw = await fetch(String(link['download_url']));
    expect(Buffer.from(await raw.arrayBuffer())).toEqual(bytes);
    expect(clamd.streams).toEqual([]);
    await expectOnce(address);
  });

  test.each([
    ['virus', { virusVerdict: 'FAIL', spamVerdict: 'FAIL' }],
    ['spam', { spamVerdict: 'FAIL' }],
    ['auth_failed', { dmarcVerdict: 'FAIL', dmarcPolicy: 'quarantine' }],
  ])(
    'is held as %s when SES says so',
    async (reason, verdicts) => {
      const address = await newInbox();
      await tell({ recipients: [address], object: put(message(reason)), verdicts });
      expect(await event(address)).toMatchObject({
        type: 'message.held',
        data: { status: 'held', held_reason: reason, thread_id: null },
      });
    },
    90_000,
  );

  test('that fails DMARC is received where its domain asks for nothing', async () => {
    const address = await newInbox();
    const verdicts = { dmarcVerdict: 'FAIL', dmarcPolicy: 'none' };
    await tell({ recipients: [address], object: put(message('No policy')), verdicts });
    expect(await event(address)).toMatchObject({
      type: 'message.received',
      data: { auth: { dmarc: 'fail' } },
    });
  });

  test('of exactly 10 MiB is taken', async () => {
    const address = await newInbox();
    const head = message('Big');
    await tell({
      recipients: [address],
      object: put(Buffer.concat([head, Buffer.alloc(TEN_MIB - head.length, 'x\r\n')])),
    });
    expect((await event(address)).data['size']).toBe(TEN_MIB);
  });

  test('and that is gone, or over 10 MiB, ends as a refusal that is counted and told', async () => {
    const address = await newInbox();
    const refused = {
      gone: { bucket: BUCKET, key: 'mail/nowhere' },
      too_big: put(Buffer.alloc(TEN_MIB + 1)),
    };
    for (const [reason, object] of Object.entries(refused)) {
      const before = await counted(`result="refused",reason="${reason}"`);
      const id = await tell({ recipients: [address], object, messageId: `ses-${reason}` });
      const line = await waitFor(() => inbound.log.find((each) => each['sns_message_id'] === id), {
        what: 'its line in the log',
        timeoutMs: PATIENCE_MS,
      });
      expect(line).toMatchObject({
        msg: 'message.refused',
        level: 'warn',
        reason,
        ses_message_id: `ses-${reason}`,
      });
      expect(await counted(`result="refused",reason="${reason}"`)).toBe(before + 1);
    }
    await takenIn();
    expect(await messagesOf(address)).toBe(0);
  });

  test('which is not on the list of buckets is refused by the API', async () => {
    const address = await newInbox();
    const object = put(message('Elsewhere'), 'mail-of-others');
    await tell({ recipients: [address], object });
    const page = await fetchMetrics(await all.port());
    expect(page.read('postrider_provider_notifications_total{result="bucket_refused"}')).toBe(1);
    expect(await backlog()).toBe(0);
    expect(s3.requests.map(({ bucket }) => bucket)).not.toContain('mail-of-others');
  });

  test('waits while S3 is away, shows in the backlog, and is taken when S3 is back', async () => {
    const address = await newInbox();
    const before = asked('GetObject');
    s3.fail(s3Error(503, 'SlowDown'), { operation: 'GetObject' });
    try {
      await tell({ recipients: [address], object: put(message('Late')) });
      // The SDK itself tries three times: so this is its second claim at least.
      await waitFor(() => asked('GetObject') >= before + 4, {
        what: 'a second claim',
        timeoutMs: PATIENCE_MS,
      });
      await waitFor(
        async () => (await fetchMetrics(await inbound.port())).read('postrider_inbound_backlog') === 1,
        { what: 'the backlog to show it', timeoutMs: PATIENCE_MS },
      );
    } finally {
      s3.heal();
    }
    await expectOnce(address);
    expect(await counted('result="later",reason="s3"')).toBeGreaterThan(0);
  });

  test('is taken once when a kill -9 ends the process that holds it', async () => {
    const address = await newInbox();
    const before = asked('GetObject');
    s3.fail(s3Hang, { operation: 'GetObject' });
    await tell({ recipients: [address], object: put(message('Twice held')) });
    await waitFor(() => asked('GetObject') > before, { what: 'the object to be asked for' });
    await inbound.kill();
    s3.heal();
    await startInbound();
    expect(await system.db.query('select claim, due_at > now() as leased from ses_mail')).toEqual([
      { claim: 1, leased: true },
    ]);
    await system.db.query('update ses_mail set due_at = now()'); // two minutes later
    await expectOnce(address);
  });

  test.each([
    ['before COMMIT', 'toServer', { messages: 0, waiting: 1 }],
    ['after COMMIT, of which it has not heard', 'toClient', { messages: 1, waiting: 0 }],
  ] as const)(
    'is taken once when a kill -9 ends the process %s',
    async (_, holds, left) => {
      const address = await newInbox();
      const trap = proxy.trap({ sees: 'COMMIT', in: 'toServer', holds });
      await tell({ recipients: [address], object: put(message('Twice held')) });
      const caught = await trap.caught();
      await caught.answered();
      await inbound.kill();
      expect({ messages: await messagesOf(address), waiting: await backlog() }).toEqual(left);
      caught.cut(); // the proxy held back the end of the connection, too
      await startInbound();
      await system.db.query('update ses_mail set due_at = now()'); // two minutes later
      await expectOnce(address);
    },
    120_000,
  );

  test('is given back at SIGTERM when S3 does not take its bytes: its lease need not run out', async () => {
    const address = await newInbox();
    const before = asked('PutObject');
    s3.fail(s3Hang, { operation: 'PutObject' });
    try {
      await tell({ recipients: [address], object: put(message('Given back')) });
      await s3.waitForRequests('PutObject', before + 1);
      expect(await inbound.stop()).toBe(0);
    } finally {
      s3.heal();
    }
    expect(inbound.log.map(({ msg }) => msg)).not.toContain('stop cut short at the deadline');
    expect(
      await system.db.query(`select claim, due_at < now() + interval '1 minute' as soon from ses_mail`),
    ).toEqual([{ claim: 1, soon: true }]);
    await startInbound();
    await expectOnce(address);
  });
});

describe('mail that the SNS action brings', () => {
  test('arrives, in either encoding', async () => {
    for (const encoding of ['utf8', 'base64'] as const) {
      const address = await newInbox();
      await tell({ recipients: [address], content: message(`As ${encoding}`).toString(encoding) });
      expect(await event(address)).toMatchObject({
        type: 'message.received',
        data: { subject: `As ${encoding}`, text: expect.stringContaining('It is late.') as unknown },
      });
    }
  });

  test('again, by the same notification and by another one, makes no second event', async () => {
    const address = await newInbox();
    const bytes = message('Twice');
    const wish = { recipients: [address], content: bytes.toString('utf8') };
    const id = await tell(wish);
    await event(address);
    await tell(wish, id);
    const before = await counted('result="repeated"');
    await tell({ recipients: [address], object: put(bytes) }); // the S3 action of the same rule
    await waitFor(async () => (await counted('result="repeated"')) > before, { what: 'the repetition' });
    await expectOnce(address);
  });

  test('for nobody ends, counted and told', async () => {
    const before = await counted('result="nobody"');
    const id = await tell({
      recipients: [`nobody@${DOMAIN}`],
      content: message('To nobody').toString('utf8'),
    });
    await waitFor(async () => (await counted('result="nobody"')) > before, { what: 'it to end' });
    await takenIn();
    expect(inbound.log).toContainEqual(
      expect.objectContaining({ msg: 'message.nobody', level: 'info', sns_message_id: id }),
    );
  });
});
