import { beforeAll, describe, expect, test } from '@jest/globals';
import { createSecretBox, openHeaders } from '@postrider/domain';
import type { WebhookId } from '@postrider/domain';
import request from 'supertest';
import { expectProblem } from '../../test/expect-problem.ts';
import { SECRET_KEYS, setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const ENDPOINT = 'https://hooks.example.com/in';
const HEADERS = { Authorization: 'Bearer the-credential', 'X-Api-Key': 'the-key' };

const api = setupApi();
let caller: Caller;

beforeAll(async () => void (caller = await api.newCaller()));

const post = (more: object, by = caller) =>
  request(api.url)
    .post('/v1/webhooks')
    .set('authorization', by.authorization)
    .send({ endpoint: ENDPOINT, ...more });

const get = (path: string, by = caller) => request(api.url).get(path).set('authorization', by.authorization);

async function storedHeaders(id: WebhookId): Promise<object | null> {
  const [row] = await api.database.query<{ keyId: string; sealed: Buffer | null }>(
    'select secret_key_id as "keyId", headers_sealed as sealed from webhooks where id = $1',
    [id],
  );
  const { keyId = '', sealed = null } = row ?? {};
  return sealed === null ? null : openHeaders(createSecretBox(SECRET_KEYS), { keyId, sealed }, id);
}

test('headers are stored sealed, and no answer and no log line has them', async () => {
  const owner = await api.newCaller();
  const created = await post({ headers: HEADERS, description: 'Through the gateway' }, owner);
  expect(created.status).toBe(201);
  const { id } = created.body as { id: WebhookId };
  expect(await storedHeaders(id)).toEqual(HEADERS);
  const answers = [created, await get(`/v1/webhooks/${id}`, owner), await get('/v1/webhooks', owner)];
  for (const answer of answers) expect(answer.body).not.toHaveProperty('headers');
  const [row] = await api.database.query('select * from webhooks where id = $1', [id]);
  const seen = [...answers.map(({ text }) => text), api.log(), JSON.stringify(row)].join('\n');
  for (const word of ['the-credential', 'the-key', 'Api-Key']) expect(seen).not.toContain(word);
});

test.each([
  ['absent', {}],
  ['null', { headers: null }],
])('headers that are %s are none', async (_, more) => {
  const created = await post(more);
  expect(await storedHeaders((created.body as { id: WebhookId }).id)).toBeNull();
});

describe('headers that cannot be sent are refused as 422, without their values', () => {
  test.each([
    [['Authorization: secret'], 'headers is not an object of strings'],
    ['secret', 'headers is not an object of strings'],
    [{ 'X-A': 'secret\r\nX-B: c' }, 'headers.X-A is not a header value of visible ASCII characters'],
    [{ 'X-A': ['secret'] }, 'headers.X-A is not a string'],
    [{ 'X A': 'secret' }, 'headers.X A is not a valid header name'],
    [{ Host: 'secret.example' }, 'headers.Host is set by the service'],
    [{ 'ACME-signature': 'secret' }, 'headers.ACME-signature is set by the service'],
    [{ 'X-A': 'secret', 'x-a': 'secret' }, 'headers.x-a is given twice'],
  ])('%j', async (headers, detail) => {
    const by = await api.newCaller();
    const response = await post({ headers }, by);
    expect(expectProblem(response, 'validation-failed')).toBe(`${detail}.`);
    expect(response.text).not.toContain('secret');
    expect(await api.database.query('select from webhooks where account_id = $1', [by.accountId])).toEqual(
      [],
    );
  });
});

describe('the description', () => {
  test('is in each answer about the webhook', async () => {
    const owner = await api.newCaller();
    const created = await post({ description: 'Bücher 🎉' }, owner);
    const { id } = created.body as { id: string };
    const shown = { id, description: 'Bücher 🎉' };
    expect(created.body).toMatchObject(shown);
    expect((await get(`/v1/webhooks/${id}`, owner)).body).toMatchObject(shown);
    expect((await get('/v1/webhooks', owner)).body).toMatchObject({ data: [shown] });
  });

  test.each([
    ['x'.repeat(256), `"${'x'.repeat(99)}… is longer than 255 characters`],
    ['a\nb', '"a\\nb" contains a control character'],
    ['\ud83d', '"\\ud83d" contains half of a surrogate pair'],
    [7, '7 is not a string'],
  ])('%j is refused as 422', async (description, detail) => {
    expect(expectProblem(await post({ description }), 'validation-failed')).toBe(`description ${detail}.`);
  });
});

describe('the domains', () => {
  test('are kept in lower-case ASCII, each once, and are in each answer about the webhook', async () => {
    const owner = await api.newCaller();
    const domains = ['Shop.Example', 'shop.example.', 'B\u00fccher.example', '_x.a.example'];
    const created = await post({ domains }, owner);
    const { id } = created.body as { id: string };
    const shown = { id, domains: ['shop.example', 'xn--bcher-kva.example', '_x.a.example'] };
    expect(created.body).toMatchObject(shown);
    expect((await get(`/v1/webhooks/${id}`, owner)).body).toMatchObject(shown);
    expect((await get('/v1/webhooks', owner)).body).toMatchObject({ data: [shown] });
  });

  test.each([
    ['absent', {}],
    ['null', { domains: null }],
  ])('%s mean every event', async (_, more) => {
    expect((await post(more)).body).toMatchObject({ domains: null });
  });

  test.each([
    [[], 'domains [] is empty'],
    ['shop.example', 'domains "shop.example" is not an array of domains'],
    [['a.example', '*.shop.example'], 'domains[1] "*.shop.example" is not a domain name'],
    [['shop'], 'domains[0] "shop" is not a domain name'],
    [['a@shop.example'], 'domains[0] "a@shop.example" is not a domain name'],
    [[7], 'domains[0] 7 is not a string'],
    [[''], 'domains[0] "" is not a domain name'],
  ])('%j are refused as 422', async (domains, detail) => {
    expect(expectProblem(await post({ domains }), 'validation-failed')).toBe(`${detail}.`);
  });

  test('may be a hundred, and no more', async () => {
    const many = (count: number) => Array.from({ length: count }, (_, n) => `a${n}.example`);
    expect((await post({ domains: many(100) })).status).toBe(201);
    const detail = expectProblem(await post({ domains: many(101) }), 'validation-failed');
    expect(detail).toContain('has more than 100 domains');
  });
});
