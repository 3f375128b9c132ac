import { get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { newId, SCOPES } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import request from 'supertest';
import { expectProblem, wholeAnswer } from '../../test/expect-problem.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const LINK = {
  download_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/links\/[\w-]{100,200}$/),
  expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
};
const LOGO = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 255]);
const FILES = [
  { filename: 'März.pdf', content: Buffer.from('hello').toString('base64') },
  { filename: 'logo', content: LOGO.toString('base64'), content_type: 'image/png', content_id: 'logo' },
  { filename: 'empty', content: '', content_type: 'text/html; charset=utf-7' },
];

const api = setupApi();
let caller: Caller;

beforeAll(async () => void (caller = await api.newCaller()));

async function sent(attachments: object[] = FILES, by = caller): Promise<string> {
  const response = await request(api.url)
    .post('/v1/emails')
    .set('authorization', by.authorization)
    .send({ from: 'a@a.example', to: 'b@b.example', subject: 'Hi', text: 'Hello', attachments });
  expect({ status: response.status, body: response.text }).toMatchObject({ status: 200 });
  return (response.body as { id: string }).id;
}

function ask(path: string, by = caller) {
  return request(api.url).get(`/v1/emails/${path}`).set('authorization', by.authorization);
}

interface Listed {
  readonly has_more: boolean;
  readonly data: readonly { readonly id: string; readonly download_url: string }[];
}

async function listed(path: string): Promise<Listed> {
  const response = await ask(path);
  expect(response.status).toBe(200);
  return response.body as Listed;
}

/** Opens a link without a key. */
async function open(url: string, headers: Record<string, string> = {}, method = 'GET') {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { headers, method, agent: false }, resolve).on('error', reject);
  });
  return {
    status: response.statusCode,
    headers: response.headers,
    body: Buffer.concat((await response.toArray()) as Buffer[]),
  };
}

describe('the attachments of a sent message', () => {
  test('are listed in pages with the type that recipients see, and read one by one', async () => {
    const id = await sent();
    const data = [
      {
        id: `${id}.0`,
        filename: 'März.pdf',
        size: 5,
        content_type: 'application/pdf',
        content_disposition: 'attachment',
        ...LINK,
      },
      {
        id: `${id}.1`,
        filename: 'logo',
        size: 6,
        content_type: 'image/png',
        content_disposition: 'inline',
        content_id: 'logo',
        ...LINK,
      },
      expect.objectContaining({ id: `${id}.2`, size: 0 }),
    ];
    expect(await listed(`${id}/attachments`)).toEqual({ object: 'list', has_more: false, data });
    const page = async (query: string) => {
      const { data: entries, has_more: hasMore } = await listed(`${id}/attachments?${query}`);
      return [entries.map((entry) => entry.id.split('.')[1]), hasMore];
    };
    expect(await page('limit=2')).toEqual([['0', '1'], true]);
    expect(await page(`after=${id}.0`)).toEqual([['1', '2'], false]);
    expect(await page(`limit=1&before=${id}.2`)).toEqual([['1'], true]);
    expect((await ask(`${id}/attachments/${id}.1`)).body).toEqual({
      object: 'attachment',
      ...(data[1] as object),
    });
    expect(await listed(`${await sent([])}/attachments`)).toMatchObject({ data: [] });
  });

  test('of another message, and unknown ones, read as missing and are no cursor', async () => {
    const id = await sent();
    const other = await sent();
    for (const attachment of [`${other}.0`, `${id}.3`, `${id}.00`, '0', '__proto__', '%00']) {
      expect(expectProblem(await ask(`${id}/attachments/${attachment}`), 'not-found')).toBe(
        'There is no such attachment.',
      );
    }
    expectProblem(await ask(`${id}/attachments?after=${other}.0`), 'validation-failed');
  });

  test('of another account, or of live mail to a test key, read as those of no message', async () => {
    const id = await sent();
    const stranger = await api.newCaller({ scopes: SCOPES });
    const testing = await api.newCaller({ accountId: caller.accountId, kind: 'test', scopes: SCOPES });
    for (const by of [stranger, testing]) {
      const nowhere = newId('email', systemClock);
      for (const rest of ['', `/${id}.0`]) {
        const answer = await ask(`${id}/attachments${rest}`, by);
        expectProblem(answer, 'not-found');
        expect(wholeAnswer(answer)).toBe(wholeAnswer(await ask(`${nowhere}/attachments${rest}`, by)));
      }
    }
    const sender = await api.newCaller({
      accountId: caller.accountId,
      scopes: ['emails:send', 'inbound:read'],
    });
    expectProblem(await ask(`${id}/attachments`, sender), 'api-key-forbidden');
  });
});

describe('a link to an attachment of a sent message', () => {
  async function linksOf(id: string): Promise<string[]> {
    return (await listed(`${id}/attachments`)).data.map((file) => file.download_url);
  }

  test('gives its bytes without a key, whole or in a range, only as a download', async () => {
    const [pdf = '', logo = '', empty = ''] = await linksOf(await sent());
    const whole = await open(logo);
    expect(whole).toMatchObject({ status: 200, body: LOGO });
    expect(whole.headers).toMatchObject({
      'content-type': 'image/png',
      'content-length': '6',
      'content-disposition': 'attachment; filename="logo"',
      'content-security-policy': 'sandbox',
      'x-content-type-options': 'nosniff',
    });
    expect(await open(pdf, { range: 'bytes=1-3' })).toMatchObject({
      status: 206,
      body: Buffer.from('ell'),
      headers: { 'content-range': 'bytes 1-3/5', 'content-type': 'application/pdf' },
    });
    expect(await open(pdf, { range: 'bytes=9-' })).toMatchObject({ status: 416, body: Buffer.alloc(0) });
    expect(await open(pdf, {}, 'HEAD')).toMatchObject({
      status: 200,
      body: Buffer.alloc(0),
      headers: { 'content-length': '5' },
    });
    expect(await open(empty)).toMatchObject({
      status: 200,
      body: Buffer.alloc(0),
      headers: { 'content-type': 'application/octet-stream' },
    });
  });

  test('gives many megabytes unchanged', async () => {
    const content = Buffer.alloc(3 * 1024 * 1024, Buffer.from('0123456789abcdef-'));
    const [url = ''] = await linksOf(await sent([{ filename: 'a', content: content.toString('base64') }]));
    const { body } = await open(url);
    expect(body.equals(content)).toBe(true);
  });

  test('is expired once the content is deleted', async () => {
    const id = await sent();
    const [url = ''] = await linksOf(id);
    await api.database.query('delete from email_attachments where email_id = $1', [id]);
    for (const [method, headers] of [
      ['GET', {}],
      ['HEAD', {}],
      ['GET', { range: 'bytes=0-1' }],
    ] as const) {
      expect((await open(url, headers, method)).status).toBe(404);
    }
    expect(await listed(`${id}/attachments`)).toMatchObject({ data: [] });
  });
});
