import { beforeAll, describe, expect, test } from '@jest/globals';
import { EVENT_TYPES, newId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import request from 'supertest';
import { expectPlainText, expectProblem, textOf, withoutInstance } from '../../test/expect-problem.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const ENDPOINT = 'https://hooks.example.com/in';

interface WebhookBody {
  id: string;
  signing_secret: string;
  standard_secret: string;
  endpoint: string;
  events: string[];
}

const api = setupApi();
let caller: Caller;

beforeAll(async () => void (caller = await api.newCaller()));

function post(body: unknown, by = caller) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return request(api.url).post('/v1/webhooks').set('authorization', by.authorization).send(text);
}

function list(by = caller) {
  return request(api.url).get('/v1/webhooks').set('authorization', by.authorization);
}

function remove(id: string, by = caller) {
  return request(api.url).delete(`/v1/webhooks/${id}`).set('authorization', by.authorization);
}

async function created(body: unknown = { endpoint: ENDPOINT }, by = caller): Promise<WebhookBody> {
  const response = await post(body, by);
  expect(response.status).toBe(201);
  return response.body as WebhookBody;
}

describe('POST /v1/webhooks', () => {
  test('answers 201 with the webhook and its signing secret', async () => {
    const response = await post({ endpoint: ENDPOINT, events: ['email.sent', 'email.bounced'] });
    expect(response.status).toBe(201);
    expect(response.headers['content-type']).toBe('application/json');
    expect(response.body).toEqual({
      object: 'webhook',
      id: expect.stringMatching(/^wh_[0-9a-z]{26}$/),
      endpoint: ENDPOINT,
      events: ['email.sent', 'email.bounced'],
      description: null,
      domains: null,
      signing_secret: expect.stringMatching(/^whsec_[\w-]{43}$/),
      standard_secret: expect.stringMatching(/^whsec_[\w+/]{66}==$/),
    });
    const { signing_secret: secret, standard_secret: standard } = response.body as WebhookBody;
    expect(standard).toBe(`whsec_${Buffer.from(secret).toString('base64')}`);
  });

  test.each([
    ['absent', {}],
    ['empty', { events: [] }],
  ])('events that are %s mean every type', async (_, more) => {
    expect((await created({ endpoint: ENDPOINT, ...more })).events).toEqual(EVENT_TYPES);
  });

  test('a list of all types stays a list: types that are added later are not in it', async () => {
    const { id } = await created({ endpoint: ENDPOINT, events: EVENT_TYPES });
    const [row] = await api.database.query<{ events: string[] }>(
      'select events from webhooks where id = $1',
      [id],
    );
    expect(row?.events).toEqual(EVENT_TYPES);
  });

  test('a type that is named twice counts once', async () => {
    const { events } = await created({
      endpoint: ENDPOINT,
      events: ['email.sent', 'email.failed', 'email.sent'],
    });
    expect(events).toEqual(['email.sent', 'email.failed']);
  });

  test('the endpoint is kept in its normalised form', async () => {
    expect((await created({ endpoint: 'HTTPS://Hooks.Example.com:443/a/../in' })).endpoint).toBe(ENDPOINT);
  });

  test('a private address is not refused here but at delivery', async () => {
    expect((await created({ endpoint: 'https://127.0.0.1/in' })).endpoint).toBe('https://127.0.0.1/in');
  });

  test.each([
    'application/json',
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=utf-16',
  ])('JSON is read as JSON when its Content-Type says %s', async (contentType) => {
    const response = await post({ endpoint: ENDPOINT }).set('content-type', contentType);
    expect(response.status).toBe(201);
  });

  test.each([
    ['{"event":["email.sent"]}', '"event"', 'events'],
    ['{"Events":["email.sent"]}', '"Events"', 'events'],
    ['{"url":"https://a.example"}', '"url"', 'events'],
    ['{"__proto__":{"events":["x"]}}', '"__proto__"', 'endpoint'],
    ['{"constructor":{"prototype":{"a":1}}}', '"constructor"', 'description'],
    [`{"${'x'.repeat(200)}":1}`, `"${'x'.repeat(99)}…`, 'endpoint'],
  ])('the unknown field of %s is refused as 422, and no webhook is made', async (more, written, nearest) => {
    const by = await api.newCaller();
    const response = await post(more.replace('{', `{"endpoint":"${ENDPOINT}",`), by);
    expect(expectProblem(response, 'validation-failed')).toBe(
      `${written} is not a field of this route; the nearest one is ${nearest}.`,
    );
    const made = await api.database.query('select from webhooks where account_id = $1', [by.accountId]);
    expect(made).toEqual([]);
    expect(({} as Record<string, unknown>)['a']).toBeUndefined();
  });

  test.each([
    ['nothing', ''],
    ['no JSON', 'endpoint=https://hooks.example.com'],
    ['half of a document', '{"endpoint":'],
    ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['a NUL', '\0'],
    ['ten thousand brackets', '['.repeat(10_000)],
  ])('a body of %s is refused as 400 in plain text', async (_, body) => {
    const response = await request(api.url)
      .post('/v1/webhooks')
      .set('authorization', caller.authorization)
      .set('content-type', 'application/json')
      .serialize((text: string) => text)
      .send(body);
    expectPlainText(response, 400);
  });

  test.each([
    '{}',
    '{"events":[]}',
    'null',
    '[]',
    '42',
    '"https://hooks.example.com"',
    '{"__proto__":{"endpoint":"https://a.example"}}',
  ])('the body %s lacks its required field: 422 in plain text', async (body) => {
    const response = await post(body);
    expectPlainText(response, 422);
    expect(response.text).toContain('endpoint');
  });

  test.each([
    [{ endpoint: 42 }, 'endpoint 42 is not a string'],
    [{ endpoint: null }, 'endpoint null is not a string'],
    [{ endpoint: ['https://a.example'] }, 'endpoint ["https://a.example"] is not a string'],
    [{ endpoint: 'http://a.example' }, 'endpoint "http://a.example" is not an https:// URL'],
    [{ endpoint: 'hooks' }, 'endpoint "hooks" is not an absolute URL'],
    [{ endpoint: '' }, 'endpoint "" is not an absolute URL'],
    [
      { endpoint: 'https://u:p@a.example' },
      'endpoint "https://u:p@a.example" carries a user name or password',
    ],
    [{ endpoint: 'https://a.example:0' }, 'endpoint "https://a.example:0" has port 0'],
    [{ endpoint: 'https://a\0b.example' }, 'endpoint "https://a\\u0000b.example" is not an absolute URL'],
    [{ endpoint: ENDPOINT, events: 'email.sent' }, 'events "email.sent" is not an array of event types'],
    [{ endpoint: ENDPOINT, events: {} }, 'events {} is not an array of event types'],
    [{ endpoint: ENDPOINT, events: null }, 'events null is not an array of event types'],
    [{ endpoint: ENDPOINT, events: ['email.sent', 7] }, 'events[1] 7 is not a string'],
    [{ endpoint: ENDPOINT, events: ['email.opend'] }, 'events[0] "email.opend" is not a known event type'],
    [{ endpoint: ENDPOINT, events: ['\0'] }, 'events[0] "\\u0000" is not a known event type'],
    [{ endpoint: ENDPOINT, events: ['constructor'] }, 'events[0] "constructor" is not a known event type'],
  ])('%j is refused as 422 with the field and the value', async (body, detail) => {
    const response = await post(body);
    expect(expectProblem(response, 'validation-failed')).toBe(`${detail}.`);
    expect(textOf(response)).not.toContain('"errors"');
  });

  test('the detail quotes the first part of a long value', async () => {
    const long = await post({ endpoint: ENDPOINT, events: ['😀'.repeat(9_000)] });
    const detail = expectProblem(long, 'validation-failed');
    expect(detail).toBe(`events[0] "${'😀'.repeat(99)}… is not a known event type.`);
    const url = await post({ endpoint: `https://a.example/${'x'.repeat(2_048)}` });
    expect(expectProblem(url, 'validation-failed')).toContain('is longer than 2048 characters');
  });

  test.each([
    'https://a.example/\u0000',
    'https://a.example/\ud800',
    'https://a.example/\u202e?q=\u0000#\u0000',
  ])('the endpoint %j does not reach Postgres as what it cannot store', async (endpoint) => {
    const { endpoint: stored } = await created({ endpoint });
    expect(stored).toMatch(/^https:\/\/a\.example\/[\x21-\x7e]*$/);
  });
});

describe('GET /v1/webhooks', () => {
  test('answers all webhooks of the account, newest first, without secrets', async () => {
    const owner = await api.newCaller();
    const first = await created({ endpoint: ENDPOINT, events: ['email.sent'] }, owner);
    const second = await created({ endpoint: ENDPOINT }, owner);
    const response = await list(owner);
    expect(response.status).toBe(200);
    const entry = {
      object: 'webhook',
      endpoint: ENDPOINT,
      description: null,
      domains: null,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown,
      failing_since: null,
      last_success_at: null,
      last_error: null,
      outstanding: 0,
      dead_letters: 0,
      dead_letters_dropped: 0,
    };
    expect(response.body).toEqual({
      object: 'list',
      data: [
        { ...entry, id: second.id, events: EVENT_TYPES },
        { ...entry, id: first.id, events: ['email.sent'] },
      ],
    });
    expect(response.text).not.toContain('whsec_');
  });

  test('each entry shows the health of its own webhook', async () => {
    const owner = await api.newCaller();
    const failing = await created(undefined, owner);
    const healthy = await created(undefined, owner);
    const { database } = api;
    const since = '2026-11-26T05:41:12.000Z';
    await database.query('update webhooks set failing_since = $2, dead_letters_dropped = 7 where id = $1', [
      failing.id,
      since,
    ]);
    await database.query(
      `insert into webhook_health values ($1, $2::timestamptz - interval '4 seconds', null)`,
      [failing.id, since],
    );
    await database.query(
      `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status, error)
       values (now(), 1, 'evt_x', $1, 1, 5, 503, 'HTTP 503'), (now(), 2, 'evt_y', $2, 1, 5, 200, null)`,
      [failing.id, healthy.id],
    );
    await database.query(
      `insert into deliveries (event_id, webhook_id) select 'evt_' || n, $1 from generate_series(1, 3) n`,
      [failing.id],
    );
    const { data } = (await list(owner)).body as { data: WebhookBody[] };
    expect(data.find(({ id }) => id === failing.id)).toMatchObject({
      failing_since: since,
      last_success_at: '2026-11-26T05:41:08.000Z',
      last_error: 'HTTP 503',
      outstanding: 3,
      dead_letters: 0,
      dead_letters_dropped: 7,
    });
    expect(data.find(({ id }) => id === healthy.id)).toMatchObject({
      failing_since: null,
      last_success_at: expect.stringMatching(/Z$/) as unknown,
      last_error: null,
      outstanding: 0,
    });
  });

  test('an account without webhooks has an empty list', async () => {
    expect((await list(await api.newCaller())).body).toEqual({ object: 'list', data: [] });
  });
});

describe('GET /v1/webhooks/{id}', () => {
  const get = (id: string, by = caller) =>
    request(api.url).get(`/v1/webhooks/${id}`).set('authorization', by.authorization);

  test('answers the entry of the list, without the secret', async () => {
    const owner = await api.newCaller();
    const { id } = await created({ endpoint: ENDPOINT, events: ['email.sent'] }, owner);
    await created(undefined, owner);
    const response = await get(id, owner);
    expect(response.status).toBe(200);
    const { data } = (await list(owner)).body as { data: WebhookBody[] };
    expect(response.body).toEqual(data.find((entry) => entry.id === id));
    expect(response.text).not.toContain('whsec_');
  });

  test('a malformed id, a missing one, a deleted one and another account’s give the same 404', async () => {
    const foreign = await created(undefined, await api.newCaller());
    const deleted = await created();
    await remove(deleted.id);
    const ids = ['x', foreign.id, deleted.id, newId('webhook', systemClock), foreign.id.toUpperCase(), '%00'];
    const responses = await Promise.all(ids.map(async (id) => get(id)));
    for (const response of responses) expectProblem(response, 'not-found');
    expect(new Set(responses.map(withoutInstance)).size).toBe(1);
  });

  test('the webhook of a routing rule gets the answer of a missing one', async () => {
    const { id } = await created();
    await api.database.query(`update webhooks set subject = 'a/inbound/b' where id = $1`, [id]);
    expectProblem(await get(id), 'not-found');
  });
});

describe('DELETE /v1/webhooks/{id}', () => {
  test('answers 200, and the webhook is gone with its deliveries and dead letters', async () => {
    const owner = await api.newCaller();
    const { id } = await created(undefined, owner);
    await api.newDeadLetter(owner.accountId, id);
    await api.database.query('insert into deliveries (event_id, webhook_id) values ($1, $2)', ['evt_x', id]);
    const response = await remove(id, owner);
    expect(response.status).toBe(200);
    expect(response.body).toEqual({ object: 'webhook', id, deleted: true });
    expect((await list(owner)).body).toEqual({ object: 'list', data: [] });
    const left = await api.database.query(
      `select 1 from deliveries where webhook_id = $1 union all select 1 from dead_letters where webhook_id = $1`,
      [id],
    );
    expect(left).toEqual([]);
    expectProblem(await remove(id, owner), 'not-found');
  });

  test('a malformed id, a missing one and another account’s give the same 404, which names no id', async () => {
    const { id } = await created(undefined, await api.newCaller());
    const ids = ['x', id, newId('webhook', systemClock), id.toUpperCase(), '%00', 'dead-letters', 'a%2Fb'];
    const responses = await Promise.all(ids.map(async (each) => remove(each)));
    for (const response of responses) expectProblem(response, 'not-found');
    expect(new Set(responses.map(withoutInstance)).size).toBe(1);
    expect(responses.map(textOf).join()).not.toContain(id);
  });

  test('a body is ignored', async () => {
    const { id } = await created();
    expect((await remove(id).set('content-type', 'application/json').send('{"broken')).status).toBe(200);
  });
});
