import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openSmtpClient, startZoneServer, waitFor } from '@postrider/testing';
import type { SystemProcess, ZoneServer } from '@postrider/testing';
import { createTransport } from 'nodemailer';
import { callApi } from './call-api.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/*
 * A message in which each name, address and type is hostile goes through real processes. No part reaches a
 * path, a header or a line of a log. The hostile texts contain the marker, so that the tests can look for it.
 */

const MARKER = 'zz7marker7zz';
const INBOX = `${MARKER}-inbox@inbound.postrider.example`;
const COPY = `${MARKER}-copy@inbound.postrider.example`;
const FROM = `${MARKER}@evil.example`;
/** An attacker's text that a CRLF in a name would add. */
const INJECTED = `\r\nX-Injected: ${MARKER}\r\n\r\n<script>`;

const encodedWord = (text: string): string => `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`;
const extended = (text: string): string => `filename*=utf-8''${encodeURIComponent(text)}`;

/** The hostile file names of the message. */
const FILES: readonly {
  /** The parameter of `Content-Disposition` in the message. */
  readonly parameter: string;
  /** The file name in the API's record. */
  readonly recorded: string | null;
  /** `Content-Disposition` of the download. */
  readonly offered: string;
}[] = [
  {
    parameter: `filename="../../etc/${MARKER}"`,
    recorded: MARKER,
    offered: `attachment; filename="${MARKER}"`,
  },
  {
    parameter: `filename="C:\\\\${MARKER}\\\\..\\\\boot.ini"`,
    recorded: 'boot.ini',
    offered: 'attachment; filename="boot.ini"',
  },
  { parameter: 'filename=".."', recorded: null, offered: 'attachment; filename="attachment"' },
  {
    parameter: `filename=".${MARKER}rc"`,
    recorded: `.${MARKER}rc`,
    offered: `attachment; filename="_${MARKER}rc"`,
  },
  {
    parameter: extended(`a${INJECTED}`),
    recorded: `a X-Injected: ${MARKER} <script>`,
    offered: `attachment; filename="a X-Injected_ ${MARKER} _script_"`,
  },
  {
    parameter: `filename="${encodedWord(`b${INJECTED}`)}"`,
    recorded: `b X-Injected: ${MARKER} <script>`,
    offered: `attachment; filename="b X-Injected_ ${MARKER} _script_"`,
  },
  {
    parameter: extended(`nul\0${MARKER}.exe`),
    recorded: `nul${MARKER}.exe`,
    offered: `attachment; filename="nul${MARKER}.exe"`,
  },
  {
    parameter: `filename="c\\"; filename=\\"${MARKER}.html"`,
    recorded: `c"; filename="${MARKER}.html`,
    offered: `attachment; filename="c_; filename=_${MARKER}.html"`,
  },
  {
    parameter: extended(`${MARKER}\u202egpj.exe`),
    recorded: `${MARKER}\u202egpj.exe`,
    offered: `attachment; filename="${MARKER}gpj.exe"`,
  },
  {
    parameter: `filename="${MARKER}${'x'.repeat(5_000)}"`,
    recorded: `${MARKER}${'x'.repeat(998 - MARKER.length)}`,
    offered: `attachment; filename="${MARKER}${'x'.repeat(255 - MARKER.length)}"`,
  },
];

/** Hostile media types. The files have them in turn, so the message has all. */
const TYPES = [
  `text/html; charset="utf-7\\"; x=${MARKER}"`,
  `../../../${MARKER}`,
  `text/${MARKER}"><script>`,
  encodedWord(`text/html${INJECTED}`),
  `application/${'x'.repeat(500)}${MARKER}`,
  'image/svg+xml',
  `text/html\r\n\tX-Injected: ${MARKER}`,
];
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

const MESSAGE = Buffer.from(
  [
    `Message-ID: <${MARKER}@evil.example>`,
    `References: <a@evil.example> ${encodedWord(INJECTED)} <${MARKER}@evil.example>`,
    `From: ${encodedWord(`Evil${INJECTED}`)} <${FROM}>`,
    `To: ${encodedWord(`You${INJECTED}`)} <${INBOX}>`,
    `Reply-To: ${encodedWord(`Copy${INJECTED}`)} <${COPY}>`,
    `Subject: ${encodedWord(`${MARKER}\0${INJECTED}`)}`,
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary="cut"',
    '',
    '--cut',
    'Content-Type: text/plain',
    '',
    `This is ${MARKER}.`,
    ...FILES.flatMap(({ parameter }, index) => [
      '--cut',
      `Content-Type: ${TYPES[index % TYPES.length] ?? ''}`,
      `Content-Disposition: attachment; ${parameter}`,
      `Content-ID: <${MARKER}/../${index}>`,
      '',
      `content ${index} of ${MARKER}`,
    ]),
    '--cut--',
    '',
  ].join('\r\n'),
);

let folder: string;
let names: ZoneServer;
let system: System;
let all: SystemProcess;
let inboxId: string;
let record: Readonly<Record<string, unknown>>;

const blobs = (): string => join(folder, 'blobs');
const call = async (method: string, path: string, body?: object) =>
  callApi({ api: all, key: system.apiKey }, method, path, body);

async function sendRaw(to: string): Promise<number> {
  const transport = createTransport({
    host: '127.0.0.1',
    port: await all.smtpPort(),
    name: `${MARKER}.evil.example`,
    ignoreTLS: true,
  });
  try {
    const { response } = await transport.sendMail({ envelope: { from: FROM, to: [to] }, raw: MESSAGE });
    return Number(response.slice(0, 3));
  } catch (error) {
    return (error as { responseCode?: number }).responseCode ?? 0;
  } finally {
    transport.close();
  }
}

async function makeInbox(address: string): Promise<string> {
  const { status, body } = await call('POST', '/v1/inboxes', { email_address: address });
  expect(status).toBe(201);
  return String(body['id']);
}

async function messagesOf(inbox: string): Promise<readonly { readonly id: string }[]> {
  const { body } = await call('GET', `/v1/inbound/messages?inbox_id=${inbox}`);
  return body['data'] as { id: string }[];
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'postrider-hostile-'));
  mkdirSync(blobs());
  names = await startZoneServer();
  system = await startSystem({
    env: {
      BLOB_STORE: `file:${blobs()}`,
      DNS_SERVERS: names.address,
      INBOUND_DOMAINS: 'inbound.postrider.example',
      MAIL_PROVIDER: 'smtp',
      LOG_LEVEL: 'debug',
    },
  });
  all = await system.start('all', { ROLES: 'api,relay,inbound' });
  // The worker sends to our own SMTP port, so a test can read the reply to the hostile message.
  const smtpUrl = `smtp://127.0.0.1:${await all.smtpPort()}?ignoreTLS=true`;
  await system.start('worker', { SMTP_URL: smtpUrl });
  await system.webhook('/hook');
  inboxId = await makeInbox(INBOX);
  expect(await sendRaw(INBOX)).toBe(250);
  const [message] = await messagesOf(inboxId);
  ({ body: record } = await call('GET', `/v1/inbound/messages/${message?.id ?? ''}`));
});
afterAll(async () => {
  await system.close();
  await names.close();
  rmSync(folder, { recursive: true });
});

/** Every string in it, however deep. */
function stringsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsOf) : [];
}

/** Characters that could break a line. */
const LINE_BREAKER = /[\p{Cc}\u2028\u2029]/u;

describe('a message of hostile names', () => {
  test('is recorded without a control character outside its text', () => {
    expect(record).toMatchObject({ status: 'received', from: expect.stringContaining(FROM) as unknown });
    const { text, html, ...rest } = record;
    expect([text, html]).toEqual([`This is ${MARKER}.`, null]);
    expect(stringsOf(rest).filter((one) => LINE_BREAKER.test(one))).toEqual([]);
  });

  test('offers each file under one safe line', async () => {
    const { body } = await call('GET', `/v1/inbound/messages/${String(record['id'])}/attachments`);
    const files = body['data'] as { filename: string | null; download_url: string }[];
    const seen = await Promise.all(
      files.map(async ({ filename, download_url: url }, index) => {
        const response = await fetch(url);
        const { headers } = response;
        expect(await response.text()).toBe(`content ${index} of ${MARKER}`);
        expect(headers.get('content-type')).toMatch(MEDIA_TYPE);
        expect(headers.get('content-security-policy')).toBe('sandbox');
        const others = [...headers].filter(([name]) => name !== 'content-disposition');
        expect(others.filter((one) => one.join().includes('x-injected'))).toEqual([]);
        return { recorded: filename, offered: headers.get('content-disposition') };
      }),
    );
    expect(seen).toEqual(FILES.map(({ recorded, offered }) => ({ recorded, offered })));
  });

  test('leaves only digests as names in the blob store', () => {
    const paths = readdirSync(blobs(), { recursive: true, encoding: 'utf8' });
    expect(paths.length).toBeGreaterThan(FILES.length);
    expect(paths.filter((path) => !/^[0-9a-f]{2}(\/[0-9a-f]{2}(\/[0-9a-f]{64})?)?$/.test(path))).toEqual([]);
    expect(readdirSync(folder)).toEqual(['blobs']);
  });

  test('reaches its webhook only in the body of the request', async () => {
    const [request] = await system.receiver.waitForRequests(1, { path: '/hook', withinMs: 60_000 });
    expect(JSON.parse(String(request?.body))).toMatchObject({
      type: 'message.received',
      data: { id: record['id'] },
    });
    expect([request?.path, ...(request?.rawHeaders ?? [])].join('\n')).not.toContain(MARKER);
  });

  test('gets a reply without an injected header', async () => {
    const copyId = await makeInbox(COPY);
    const thread = `/v1/inboxes/${inboxId}/threads/${String(record['thread_id'])}`;
    const reply = await call('POST', `${thread}/emails/${String(record['id'])}/reply`, { text: 'No.' });
    expect(reply.status).toBe(202);
    const copy = await waitFor(async () => (await messagesOf(copyId))[0], {
      what: 'the reply to come back',
      timeoutMs: 60_000,
    });
    const { body } = await call('GET', `/v1/inbound/messages/${copy.id}`);
    const headers = body['headers'] as { name: string; value: string }[];
    expect(headers.map(({ name }) => name.toLowerCase())).not.toContain('x-injected');
    expect(body).toMatchObject({ text: expect.stringMatching(/^No\.\s*$/) as unknown, attachments: [] });
  });
});

describe('no hostile text is in a log line or a metric', () => {
  test('when mail is stored, refused or not understood, and when Postgres or the blob store fails', async () => {
    expect(await sendRaw(`${MARKER}-nobody@inbound.postrider.example`)).toBe(550);
    await sendWhilePostgresRefuses();
    await sendWhileBlobStoreFails();
    await sendNonsense();
    for (const path of [`/v1/inbound/messages?status=${MARKER}`, `/v1/inboxes/${MARKER}`, `/links/${MARKER}`])
      expect((await call('GET', path)).status).toBeGreaterThanOrEqual(400);

    const written = system.processes.flatMap(({ log, stderr }) => [
      ...log.map((line) => JSON.stringify(line)),
      ...stderr,
    ]);
    expect(written.length).toBeGreaterThan(10);
    expect(written.filter((line) => line.includes(MARKER) || line.includes('evil.example'))).toEqual([]);
    const page = await (await fetch(`http://127.0.0.1:${await all.port()}/metrics`)).text();
    for (const name of ['http_requests_total', 'inbound_sessions'])
      expect(page).toContain(`postrider_${name}`);
    expect(page).not.toContain(MARKER);
  });

  /** The error of Postgres quotes the row. */
  async function sendWhilePostgresRefuses(): Promise<void> {
    await system.db.query('delete from messages');
    await system.db.query('alter table messages add constraint refuses check (subject is null) not valid');
    expect(await sendRaw(INBOX)).toBe(451);
    await system.db.query('alter table messages drop constraint refuses');
  }

  async function sendWhileBlobStoreFails(): Promise<void> {
    renameSync(blobs(), `${blobs()}-away`);
    writeFileSync(blobs(), 'a file is no folder');
    expect(await sendRaw(INBOX)).toBe(451);
    rmSync(blobs());
    renameSync(`${blobs()}-away`, blobs());
    expect(await sendRaw(INBOX)).toBe(250);
  }

  async function sendNonsense(): Promise<void> {
    const client = await openSmtpClient(await all.smtpPort());
    await client.answer();
    for (const line of [
      `${MARKER} <${FROM}>`,
      `EHLO ${MARKER}\u0001`,
      `MAIL FROM:<${MARKER}`,
      `RCPT TO:<"${MARKER}\u0007"@evil.example>`,
      `VRFY ${FROM}`,
    ])
      expect(await client.say(line)).toMatch(/^[25]\d\d /);
    client.write(`NOOP ${MARKER.repeat(1_000)}\r\n`);
    expect((await client.rest()).join()).toMatch(/^421 /);
  }
});
