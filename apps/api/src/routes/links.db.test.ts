import { randomBytes } from 'node:crypto';
import { get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { BlobId } from '@postrider/blobs';
import { createLinkTokens, newId } from '@postrider/domain';
import type { AttachmentId, MessageId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import type { AttachmentWish } from '@postrider/testing';
import request from 'supertest';
import { expectProblem, wholeAnswer } from '../../test/expect-problem.ts';
import { SECRET_KEYS, setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const SEVEN_DAYS_MS = 7 * 24 * 60 * 60 * 1000;
const RAW = Buffer.from('Subject: Hi\r\n\r\nHello\r\n');
const tokens = createLinkTokens(SECRET_KEYS, systemClock);

const api = setupApi();
let owner: Caller;
let blob: BlobId;

beforeAll(async () => void (owner = await api.newCaller({ scopes: ['inbound:read'] })));
beforeEach(async () => {
  await api.database.query('delete from messages');
  blob = await api.blobs.put(RAW);
});

async function message(attachments: AttachmentWish[] = []): Promise<MessageId> {
  return api.rows.message({ accountId: owner.accountId, blob, attachments });
}

/**
 * Asks for a link and returns its path.
 *
 * @param part the last part of the request's path: `raw`, `attachments/att_…`
 */
async function linkPath(messageId: MessageId, part: string): Promise<string> {
  const response = await request(api.url)
    .get(`/v1/inbound/messages/${messageId}/${part}`)
    .set('authorization', owner.authorization);
  expect(response.status).toBe(200);
  return new URL((response.body as { download_url: string }).download_url).pathname;
}

const rawLink = async () => linkPath(await message(), 'raw');

/** Stores a message with one attachment and asks for the link to the attachment. */
async function attachmentLink(attachment: AttachmentWish): Promise<string> {
  const id = newId('attachment', systemClock);
  return linkPath(await message([{ blob, ...attachment, id }]), `attachments/${id}`);
}

interface Got {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** Requests the path with only these headers. */
async function open(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${api.url}${path}`, { headers, method, agent: false }, resolve).on('error', reject);
  });
  const body = Buffer.concat((await response.toArray()) as Buffer[]);
  return { status: response.statusCode ?? 0, headers: response.headers, body };
}

const tokensMadeAfter = (ms: number) =>
  createLinkTokens(SECRET_KEYS, { now: () => new Date(Date.now() + ms) });

describe('a link', () => {
  test('to a raw message gives its bytes whatever the Authorization header, only as a download', async () => {
    const id = await message();
    const { status, headers, body } = await open(await linkPath(id, 'raw'), {
      authorization: 'Bearer nonsense',
    });
    expect({ status, body }).toEqual({ status: 200, body: RAW });
    expect(headers).toMatchObject({
      'content-type': 'message/rfc822',
      'content-length': String(RAW.length),
      'content-disposition': `attachment; filename="${id}.eml"`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': 'sandbox',
      'accept-ranges': 'bytes',
      'cache-control': 'no-store',
    });
    expect(headers).not.toHaveProperty('transfer-encoding');
  });

  test('to an attachment gives its bytes, type and name', async () => {
    const other = await api.blobs.put(randomBytes(100_000));
    const mine = randomBytes(200_000);
    const [id, wrong] = [newId('attachment', systemClock), newId('attachment', systemClock)];
    const messageId = await message([
      { id: wrong, filename: 'other', blob: other },
      { id, filename: 'März.pdf', contentType: 'application/pdf', blob: await api.blobs.put(mine) },
    ]);
    const { headers, body } = await open(await linkPath(messageId, `attachments/${id}`));
    expect(body.equals(mine)).toBe(true);
    expect(headers).toMatchObject({
      'content-type': 'application/pdf',
      'content-length': '200000',
      'content-disposition': `attachment; filename="M_rz.pdf"; filename*=UTF-8''M%C3%A4rz.pdf`,
    });
  });

  test.each([
    ['text/html', 'text/html'],
    ['image/svg+xml', 'image/svg+xml'],
    ['APPLICATION/X.Y-Z', 'APPLICATION/X.Y-Z'],
    ['text/html; charset=utf-7', 'application/octet-stream'],
    ['text/html\r\nSet-Cookie: a=b', 'application/octet-stream'],
    ['text', 'application/octet-stream'],
    ['text/', 'application/octet-stream'],
    ['', 'application/octet-stream'],
    ['*/*', 'application/octet-stream'],
    ['text/ht ml', 'application/octet-stream'],
    ['téxt/html', 'application/octet-stream'],
    [`text/${'a'.repeat(200)}`, 'application/octet-stream'],
  ])('to an attachment of the type %j answers %s', async (contentType, answered) => {
    const { status, headers } = await open(await attachmentLink({ contentType }));
    expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: answered });
    expect(headers).not.toHaveProperty('set-cookie');
    expect(headers['content-security-policy']).toBe('sandbox');
  });

  test.each([
    [null, 'attachment; filename="attachment"'],
    ['../../etc/passwd', 'attachment; filename="__.._etc_passwd"'],
    ['a"\r\nSet-Cookie: a=b\r\n\r\n<script>', 'attachment; filename="a_Set-Cookie_ a=b_script_"'],
    ['\u{1f389}\u202egpj.exe', `attachment; filename="_gpj.exe"; filename*=UTF-8''%F0%9F%8E%89gpj.exe`],
  ])('to an attachment with the name %j answers %s', async (filename, disposition) => {
    const { status, headers } = await open(await attachmentLink({ filename }));
    expect({ status, disposition: headers['content-disposition'] }).toEqual({ status: 200, disposition });
    expect(headers).not.toHaveProperty('set-cookie');
  });

  test('to an empty attachment gives nothing', async () => {
    const path = await attachmentLink({ blob: await api.blobs.put(Buffer.alloc(0)) });
    for (const headers of [{}, { range: 'bytes=0-' }]) {
      expect(await open(path, headers)).toMatchObject({ status: 200, body: Buffer.alloc(0) });
    }
  });

  test('is not rate-limited', async () => {
    const { authorization, accountId } = await api.newCaller({
      rateLimitPerMinute: 1,
      scopes: ['inbound:read'],
    });
    const id = await api.rows.message({ accountId, blob });
    const response = await request(api.url)
      .get(`/v1/inbound/messages/${id}/raw`)
      .set('authorization', authorization);
    const path = new URL((response.body as { download_url: string }).download_url).pathname;
    for (let n = 0; n < 5; n += 1) {
      expect((await open(path, { authorization })).status).toBe(200);
    }
  });

  test('is valid until a minute before its seven days end', async () => {
    const messageId = await message();
    const { token } = tokensMadeAfter(60_000 - SEVEN_DAYS_MS).seal({ messageId, attachmentId: null });
    expect((await open(`/links/${token}`)).status).toBe(200);
  });

  test('is in no line of the log', async () => {
    const path = await rawLink();
    await open(path);
    await open(`${path}x`);
    expect(api.log()).toContain('"route":"/links/:id"');
    expect(api.log()).not.toContain(path.replace('/links/', ''));
  });
});

describe('an invalid link', () => {
  test('gets the same 404 for every cause', async () => {
    const id = newId('attachment', systemClock);
    const messageId = await message([{ id, blob }]);
    const other = await message([{ blob }]);
    const gone = await message();
    const goneLink = await linkPath(gone, 'raw');
    await api.database.query('delete from messages where id = $1', [gone]);
    const good = tokens.seal({ messageId, attachmentId: null }).token;
    const bytes = Buffer.from(good, 'base64url');
    bytes[40] = (bytes[40] ?? 0) ^ 1;
    const lost = await api.rows.message({ accountId: owner.accountId });
    const wrong: Record<string, string> = {
      'of a deleted message': goneLink,
      'whose seven days are over': tokensMadeAfter(-SEVEN_DAYS_MS).seal({ messageId, attachmentId: null })
        .token,
      altered: bytes.toString('base64url'),
      'cut by one': good.slice(0, -1),
      lengthened: `${good}A`,
      'to another message’s attachment': tokens.seal({ messageId: other, attachmentId: id }).token,
      'to no attachment': tokens.seal({ messageId, attachmentId: 'x' as AttachmentId }).token,
      'whose bytes were removed': await linkPath(lost, 'raw'),
      'with another key': createLinkTokens([Buffer.alloc(32, 9)], systemClock).seal({
        messageId,
        attachmentId: null,
      }).token,
      'the message id in place of a token': messageId,
      empty: '%20',
      'not one at all': "'%20or%201=1--",
    };
    const answers = new Map<string, string>(); // one entry per distinct answer
    for (const [why, link] of Object.entries(wrong)) {
      const response = await request(api.url).get(link.startsWith('/') ? link : `/links/${link}`);
      expect(expectProblem(response, 'link-expired')).toBe('The link has expired or leads nowhere.');
      answers.set(wholeAnswer(response), why);
    }
    expect([...answers.values()]).toHaveLength(1);
    for (const target of [messageId, other]) {
      expect((await open(await linkPath(target, 'raw'))).status).toBe(200);
    }
  });

  test('is 404 also for a HEAD and for a range', async () => {
    const id = await api.rows.message({ accountId: owner.accountId });
    const path = await linkPath(id, 'raw');
    expect((await open(path, {}, 'HEAD')).status).toBe(404);
    expectProblem(await request(api.url).get(path).set('range', 'bytes=0-1'), 'link-expired');
  });
});

describe('a part of the bytes', () => {
  test.each([
    ['bytes=0-3', 206, 'Subj', 'bytes 0-3/22'],
    ['bytes=18-', 206, 'lo\r\n', 'bytes 18-21/22'],
    ['bytes=-2', 206, '\r\n', 'bytes 20-21/22'],
    ['bytes=0-1000', 206, RAW.toString(), 'bytes 0-21/22'],
    ['bytes=22-', 416, '', 'bytes */22'],
    ['bytes=-0', 416, '', 'bytes */22'],
    ['bytes=3-1', 200, RAW.toString(), undefined],
    ['bytes=0-1,3-4', 200, RAW.toString(), undefined],
    ['lines=0-1', 200, RAW.toString(), undefined],
  ])('asked for by %s is answered %d with %j', async (range, status, text, contentRange) => {
    const got = await open(await rawLink(), { range });
    expect({ status: got.status, text: got.body.toString() }).toEqual({ status, text });
    expect(got.headers['content-range']).toBe(contentRange);
    expect(got.headers['content-length']).toBe(String(text.length));
    expect(got.headers['content-disposition']).toMatch(/^attachment; /);
  });

  test('with If-Range gives the whole file: no answer has named a version', async () => {
    const path = await rawLink();
    for (const version of ['"etag"', 'Thu, 01 Jan 2026 00:00:00 GMT']) {
      expect((await open(path, { range: 'bytes=0-3', 'if-range': version })).status).toBe(200);
    }
  });

  test('a HEAD ignores the range and answers like the GET of the whole file', async () => {
    const path = await rawLink();
    const whole = await open(path);
    for (const headers of [{}, { range: 'bytes=0-3' }]) {
      const head = await open(path, headers, 'HEAD');
      expect({ status: head.status, body: head.body.length }).toEqual({ status: 200, body: 0 });
      const alike = (answer: Got) => ({ ...answer.headers, date: '', 'x-request-id': '' });
      expect(alike(head)).toEqual(alike(whole));
    }
  });
});
