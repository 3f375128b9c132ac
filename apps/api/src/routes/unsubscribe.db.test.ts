import { beforeEach, describe, expect, test } from '@jest/globals';
import { createUnsubscribeTokens, newId } from '@postrider/domain';
import type { TopicId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import request from 'supertest';
import { expectPlainText, expectProblem, withoutInstance } from '../../test/expect-problem.ts';
import { SECRET_KEYS, setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const ADDRESS = `o'neil&sons@b.example`;
const TOPIC = `<script>alert("1")</script>`;
const FORM = 'application/x-www-form-urlencoded';

const tokens = createUnsubscribeTokens(SECRET_KEYS);

const api = setupApi();
let owner: Caller;
let topicId: TopicId;
let token: string;

beforeEach(async () => {
  owner = await api.newCaller({ scopes: ['suppressions:manage'] });
  const response = await request(api.url)
    .post('/v1/topics')
    .set('authorization', owner.authorization)
    .send({ name: TOPIC, default_subscription: 'opt_in' });
  topicId = (response.body as { id: TopicId }).id;
  token = tokens.seal({ accountId: owner.accountId, topicId, address: ADDRESS });
});

function get(written = token) {
  return request(api.url).get(`/u/${written}`);
}

function post(body: string | null, contentType = FORM, written = token) {
  const asked = request(api.url).post(`/u/${written}`);
  return body === null ? asked : asked.set('content-type', contentType).send(body);
}

function suppressions() {
  return api.database.query('select address, topic_id, origin from suppressions where account_id = $1', [
    owner.accountId,
  ]);
}

async function events(): Promise<unknown[]> {
  const rows = await api.database.query<{ type: string; data: string }>(
    'select type, data from events where account_id = $1',
    [owner.accountId],
  );
  return rows.map(({ type, data }) => ({ type, ...(JSON.parse(data) as object) }));
}

const MULTIPART =
  '--b\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b--\r\n';

describe('POST /u/{token}', () => {
  test.each([
    ['the body of RFC 8058', 'List-Unsubscribe=One-Click', FORM],
    ['the same as multipart', MULTIPART, 'multipart/form-data; boundary=b'],
    ['no body', null, ''],
    ['any other body', '\0\xff%%', 'application/octet-stream'],
  ])('with %s unsubscribes at once, without a key', async (_, body, contentType) => {
    const response = await post(body, contentType);
    expect(response.status).toBe(200);
    expect(response.body).toEqual({ object: 'unsubscribe', unsubscribed: true });
    expect(await suppressions()).toEqual([{ address: ADDRESS, topic_id: topicId, origin: 'unsubscribe' }]);
    expect(await events()).toEqual([
      {
        type: 'email.unsubscribed',
        email_id: null,
        to: ADDRESS,
        topic: topicId,
        scope: 'topic',
        source: 'one_click',
        occurred_at: expect.stringMatching(/Z$/),
      },
    ]);
  });

  test('from the page answers a page, and the event names the page as its source', async () => {
    const response = await post('source=page');
    expect(response.status).toBe(200);
    expect(response.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(await events()).toMatchObject([{ source: 'page' }]);
  });

  test('a second time succeeds, and makes no second event', async () => {
    const bodies = ['List-Unsubscribe=One-Click', 'source=page', null];
    const responses = await Promise.all([...bodies, ...bodies].map(async (body) => post(body)));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(await suppressions()).toHaveLength(1);
    expect(await events()).toHaveLength(1);
  });

  test('for a deleted topic succeeds as well', async () => {
    await request(api.url).delete(`/v1/topics/${topicId}`).set('authorization', owner.authorization);
    expect((await post(null)).status).toBe(200);
    expect((await get()).status).toBe(200);
    expect([await suppressions(), await events()]).toEqual([[], []]);
  });

  test('a body over 64 KiB is 413, a compressed one 400, and the address stays subscribed', async () => {
    expectProblem(await post('x'.repeat(65_537)), 'request-too-large');
    expectPlainText(await post('x').set('content-encoding', 'gzip'), 400);
    expect(await suppressions()).toEqual([]);
  });
});

describe('GET /u/{token}', () => {
  test('asks and changes nothing, like a HEAD', async () => {
    const response = await get();
    expect(response.status).toBe(200);
    expect(response.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(response.text).toContain('<form method="post">');
    const head = await request(api.url).head(`/u/${token}`);
    expect(head.status).toBe(200);
    expect([await suppressions(), await events()]).toEqual([[], []]);
  });

  test('shows the address and the topic as text, never as markup', async () => {
    const { text } = await get();
    expect(text).toContain('o&#39;neil&amp;sons@b.example');
    expect(text).toContain('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;');
    expect(text).not.toContain('<script');
  });

  test('loads and runs nothing, and may be neither framed nor cached', async () => {
    const { headers, text } = await get();
    const [, style = ''] = /<style>(.*)<\/style>/s.exec(text) ?? [];
    const digest = Buffer.from(
      await crypto.subtle.digest('SHA-256', new TextEncoder().encode(style)),
    ).toString('base64');
    expect(headers).toMatchObject({
      'content-security-policy':
        `default-src 'none'; style-src 'sha256-${digest}'; form-action 'self'; base-uri 'none'; ` +
        `frame-ancestors 'none'`,
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    expect(text).not.toMatch(/https?:|src=|href=/);
  });
});

test('every invalid token gives the same 404, for GET and POST', async () => {
  const others = createUnsubscribeTokens([Buffer.alloc(32, 9)]);
  const foreign = others.seal({ accountId: owner.accountId, topicId, address: ADDRESS });
  const last = token.endsWith('A') ? 'B' : 'A';
  const bad = ['x', '%00', 'a%2Fb', newId('topic', systemClock), foreign, token.slice(0, -1)];
  const altered = [`${token.slice(0, -1)}${last}`, `${token}A`, `${token}=`, 'A'.repeat(4_000)];
  const responses = await Promise.all(
    [...bad, ...altered].flatMap((written) => [get(written), post('source=page', FORM, written)]),
  );
  for (const response of responses) expectProblem(response, 'not-found');
  expect(new Set(responses.map(withoutInstance)).size).toBe(1);
  expect(await suppressions()).toEqual([]);
});

test('no token and no address is in the log', async () => {
  await get();
  await post(null);
  expect(api.log()).toContain('/u/:id');
  for (const secret of [token, ADDRESS]) expect(api.log()).not.toContain(secret);
});
