import { beforeEach, describe, expect, test } from '@jest/globals';
import { inboundSubject, newId, SCOPES } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import type { Rows } from '@postrider/testing';
import request from 'supertest';
import { everythingStored } from '../../test/everything-stored.ts';
import { expectPlainText, expectProblem, withoutInstance } from '../../test/expect-problem.ts';
import { SHARED_DOMAIN, setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const ID = expect.stringMatching(/^rt_[0-9a-z]{26}$/);
const WEBHOOK_ID = expect.stringMatching(/^wh_[0-9a-z]{26}$/);
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const BOTH = ['message.received', 'message.held'];
const ENDPOINT = 'https://hooks.example.com/in';
const ADDRESS = `support@${SHARED_DOMAIN}`;
const WEBHOOKS_MAX = 5;

interface Rule {
  readonly id: string;
  readonly webhook: string;
  readonly signing_secret: string;
  readonly standard_secret: string;
}

const api = setupApi({ webhooksPerAccountMax: WEBHOOKS_MAX });
let caller: Caller;
let other: Caller;

beforeEach(async () => {
  for (const table of ['inboxes', 'inbound_routes', 'released_addresses', 'webhooks', 'domains']) {
    await api.database.query(`delete from ${table}`);
  }
  [caller, other] = [await api.newCaller({ scopes: SCOPES }), await api.newCaller({ scopes: SCOPES })];
});

function send(path: string, body: unknown, by = caller) {
  return request(api.url).post(path).set('authorization', by.authorization).send(JSON.stringify(body));
}

const post = (body: unknown, by = caller) => send('/v1/inbound/routes', body, by);
const rule = (match: string, more: object = {}) => ({ match, endpoint: ENDPOINT, ...more });

function ask(method: 'get' | 'delete', path: string, by = caller) {
  return request(api.url)[method](path).set('authorization', by.authorization);
}

const one = (id: string) => `/v1/inbound/routes/${id}`;

async function made(body: object, by = caller): Promise<Rule> {
  const response = await post(body, by);
  expect({ status: response.status, body: response.body as unknown }).toMatchObject({ status: 201 });
  return response.body as Rule;
}

const ownDomain: Rows['domain'] = async (...domain) => api.rows.domain(...domain);

describe('a routing rule', () => {
  test('is made with its secret, read and listed without it, and deleted', async () => {
    const asked = { match: `Sup.Port+x@${SHARED_DOMAIN}`, endpoint: 'HTTPS://Hooks.Example.com:443/in#x' };
    const response = await post({ ...asked, events: ['message.held', 'message.held'], name: 'Shop' });
    const shown = {
      object: 'inbound_route',
      id: ID,
      match: `sup.port@${SHARED_DOMAIN}`,
      endpoint: ENDPOINT,
      events: ['message.held'],
      webhook: WEBHOOK_ID,
      created_at: TIME,
    };
    expect({ status: response.status, body: response.body as unknown }).toEqual({
      status: 201,
      body: {
        ...shown,
        signing_secret: expect.stringMatching(/^whsec_[\w-]{43}$/),
        standard_secret: expect.stringMatching(/^whsec_[\w+/]{66}==$/),
      },
    });
    const { id, webhook, signing_secret: secret, standard_secret: standard } = response.body as Rule;
    expect(standard).toBe(`whsec_${Buffer.from(secret).toString('base64')}`);
    const entry = { ...shown, id, webhook, name: 'Shop' };
    expect((await ask('get', one(id))).body).toEqual(entry);
    expect((await ask('get', '/v1/inbound/routes')).body).toEqual({
      object: 'list',
      has_more: false,
      data: [entry],
    });
    const deleted = await ask('delete', one(id));
    expect({ status: deleted.status, body: deleted.body as unknown }).toEqual({
      status: 200,
      body: { object: 'inbound_route', id, deleted: true },
    });
    for (const method of ['get', 'delete'] as const) expectProblem(await ask(method, one(id)), 'not-found');
    expectProblem(await post(rule(`sup.port@${SHARED_DOMAIN}`), other), 'route-exists');
    await made(rule(`sup.port@${SHARED_DOMAIN}`)); // its address stays with the account
  });

  test.each([
    ['absent', {}, BOTH],
    ['empty', { events: [] }, BOTH],
    ['one', { events: ['message.received'] }, ['message.received']],
    ['both', { events: [...BOTH].reverse() }, [...BOTH].reverse()],
  ])('whose events are %s is told of those alone, and of its own mail alone', async (_, more, events) => {
    const { id, webhook } = await made(rule(ADDRESS, more));
    expect((await ask('get', one(id))).body).toMatchObject({ events, name: null });
    // An empty list of a webhook means every type.
    expect(await api.database.query('select subject, events from webhooks where id = $1', [webhook])).toEqual(
      [{ subject: inboundSubject(caller.accountId, id), events }],
    );
  });

  test('may take all mail of a domain that the account has verified, by that exact name', async () => {
    await ownDomain(caller.accountId, 'xn--bcher-kva.example');
    const { id } = await made(rule('*@B\u00fccher.example'));
    expect((await ask('get', one(id))).body).toMatchObject({ match: '*@xn--bcher-kva.example' });
    await made(rule('a@b\u00fccher.example')); // besides
    await ownDomain(caller.accountId, 'pending.example', 'pending');
    await ownDomain(other.accountId, 'other.example');
    const foreign = ['sub.xn--bcher-kva.example', 'pending.example', 'other.example', 'nobody.example'];
    for (const domain of foreign) {
      for (const match of [`*@${domain}`, `a@${domain}`]) {
        const detail = expectProblem(await post(rule(match)), 'validation-failed');
        expect(detail).toContain(`has not verified the domain of ${match}`);
      }
    }
  });

  test('never takes all mail of a shared domain, also when the account has verified it', async () => {
    expectProblem(await post(rule(`*@${SHARED_DOMAIN}`)), 'validation-failed');
    await ownDomain(caller.accountId, SHARED_DOMAIN);
    expectProblem(await post(rule(`*@${SHARED_DOMAIN}`)), 'validation-failed');
  });

  test('is listed in pages, newest first', async () => {
    const ids = [];
    for (let n = 0; n < 3; n += 1) ids.unshift((await made(rule(`a${n}@${SHARED_DOMAIN}`))).id);
    const page = async (query: string) => {
      const response = await ask('get', `/v1/inbound/routes?${query}`);
      const { data, has_more: more } = response.body as { data: Rule[]; has_more: boolean };
      return [data.map(({ id }) => id), more];
    };
    expect(await page('limit=2')).toEqual([ids.slice(0, 2), true]);
    expect(await page(`limit=2&after=${ids[1]}`)).toEqual([ids.slice(2), false]);
    expectProblem(await ask('get', '/v1/inbound/routes?limit=0'), 'validation-failed');
    const foreign = await ask('get', `/v1/inbound/routes?after=${ids[0]}`, other);
    expectProblem(foreign, 'validation-failed');
  });

  test('stays readable when the account loses the domain, and does not block a later owner', async () => {
    await ownDomain(caller.accountId, 'shop.example');
    const { id } = await made(rule('a@shop.example'));
    await api.database.query('delete from domains');
    await ownDomain(other.accountId, 'shop.example');
    await made(rule('a@shop.example'), other);
    expect((await ask('get', one(id))).status).toBe(200);
    expectProblem(await post(rule('b@shop.example')), 'validation-failed');
  });
});

describe('a body', () => {
  test.each([
    ['without match', { endpoint: ENDPOINT }],
    ['without endpoint', { match: ADDRESS }],
    ['that is no object', []],
  ])('%s is refused in plain text', async (_, body) => {
    expectPlainText(await post(body), 422);
  });

  test('that is not JSON is refused in plain text, and one that is too large with 413', async () => {
    const raw = (body: string) =>
      request(api.url).post('/v1/inbound/routes').set('authorization', caller.authorization).send(body);
    expectPlainText(await raw('{'), 400);
    expectProblem(await raw('x'.repeat(65_537)), 'request-too-large');
  });

  test.each([
    ['a match with a name', { match: `A <${ADDRESS}>` }],
    ['a match that is no text', { match: 1 }],
    ['a match that would fold into all', { match: `*+a@${SHARED_DOMAIN}` }],
    ['an http endpoint', { endpoint: 'http://hooks.example.com' }],
    ['an endpoint too long', { endpoint: `https://a.example/${'x'.repeat(2_048)}` }],
    ['another event', { events: ['message.received', 'email.sent'] }],
    ['events that are no list', { events: 'message.received' }],
    ['a name too long', { name: 'x'.repeat(101) }],
    ['a line break in the name', { name: 'a\nb' }],
  ])('with %s is a fault, without a list of faults, and stores nothing', async (_, more) => {
    const before = await everythingStored(api.database);
    const response = await post(rule(ADDRESS, more));
    expectProblem(response, 'validation-failed');
    expect(response.body).not.toHaveProperty('errors');
    expect(await everythingStored(api.database)).toEqual(before);
  });
});

describe('an address on a shared domain', () => {
  const inbox = (by: Caller) => send('/v1/inboxes', { email_address: ADDRESS }, by);

  test('belongs to one account, which may have a rule and an inbox for it', async () => {
    const { id } = await made(rule(ADDRESS));
    const before = await everythingStored(api.database);
    expectProblem(await post(rule(ADDRESS.toUpperCase())), 'route-exists');
    expectProblem(await post(rule(ADDRESS.replace('@', '+tag@')), other), 'route-exists');
    expectProblem(await inbox(other), 'inbox-exists');
    expect(await everythingStored(api.database)).toEqual(before);
    expect((await inbox(caller)).status).toBe(201);
    expect((await ask('delete', one(id))).status).toBe(200);
    expectProblem(await post(rule(ADDRESS), other), 'route-exists'); // the inbox keeps it
    await made(rule(ADDRESS));
  });

  test.each(['rule', 'inbox', 'either'])(
    'that ten accounts want at once by %s goes to one',
    async (wanted) => {
      const callers = await Promise.all(Array.from({ length: 10 }, () => api.newCaller({ scopes: SCOPES })));
      const answers = await Promise.all(
        callers.map(async (by, n) =>
          wanted === 'rule' || (wanted === 'either' && n % 2 === 0) ? post(rule(ADDRESS), by) : inbox(by),
        ),
      );
      const statuses = answers.map(({ status }) => status).sort();
      expect(statuses).toEqual([201, ...Array.from({ length: 9 }, () => 409)]);
      const owners = await api.database.query(
        'select account_id from inboxes union select account_id from inbound_routes',
      );
      expect(owners).toHaveLength(1);
    },
  );

  test('gets one rule and one webhook from ten requests of one account at once', async () => {
    const keys = await Promise.all(
      Array.from({ length: 10 }, () => api.newCaller({ accountId: caller.accountId, scopes: SCOPES })),
    );
    const answers = await Promise.all(keys.map(async (by) => post(rule(ADDRESS), by)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 201))
      expectProblem(answer, 'route-exists');
    expect(await api.database.query('select from webhooks')).toHaveLength(1);
  });
});

describe('the webhook of a rule', () => {
  test('counts against the account’s limit; faults are refused before it and route-exists after it', async () => {
    const { id } = await made(rule(ADDRESS));
    while ((await send('/v1/webhooks', { endpoint: ENDPOINT })).status === 201);
    const before = await everythingStored(api.database);
    const full = `The account has as many webhooks as it may have: ${WEBHOOKS_MAX}.`;
    for (const match of [ADDRESS, `b@${SHARED_DOMAIN}`]) {
      expect(expectProblem(await post(rule(match)), 'validation-failed')).toBe(full);
    }
    expect(expectProblem(await post(rule('a@nobody.example')), 'validation-failed')).not.toBe(full);
    expect(await everythingStored(api.database)).toEqual(before);
    await ask('delete', one(id));
    await made(rule(ADDRESS)); // its place is free
  });

  test('is in no list of webhooks; by its id only its attempts can be read', async () => {
    const { webhook } = await made(rule(ADDRESS));
    expect((await ask('get', '/v1/webhooks')).body).toEqual({ object: 'list', data: [] });
    for (const method of ['get', 'delete'] as const) {
      expectProblem(await ask(method, `/v1/webhooks/${webhook}`), 'not-found');
    }
    const attempts = `/v1/webhooks/${webhook}/attempts`;
    expect((await ask('get', attempts)).body).toMatchObject({ object: 'list', data: [] });
    expectProblem(await ask('get', attempts, other), 'not-found');
  });

  test('has dead letters that can be listed and replayed and that are deleted with the rule', async () => {
    const [{ id, webhook }, other] = [await made(rule(ADDRESS)), await made(rule(`b@${SHARED_DOMAIN}`))];
    const dead: string[] = [];
    for (let n = 0; n < 2; n += 1) dead.push(await api.newDeadLetter(caller.accountId, webhook));
    const kept = await api.newDeadLetter(caller.accountId, other.webhook);
    const letters = async () => {
      const response = await ask('get', '/v1/webhooks/dead-letters');
      return (response.body as { data: { id: string }[] }).data.map((letter) => letter.id).sort();
    };
    expect(await letters()).toEqual([...dead, kept].sort());
    expect((await send(`/v1/webhooks/dead-letters/${dead.pop()}/replay`, {})).status).toBe(200);
    expect(await letters()).toEqual([...dead, kept].sort());
    const outstanding = () => api.database.query('select from deliveries where webhook_id = $1', [webhook]);
    expect(await outstanding()).toHaveLength(1);
    expect((await ask('delete', one(id))).status).toBe(200);
    expect(await letters()).toEqual([kept]);
    expect(await outstanding()).toEqual([]);
    expect(await api.database.query('select id from webhooks')).toEqual([{ id: other.webhook }]);
    expect(await api.database.query('select id from dead_letters')).toEqual([{ id: kept }]);
  });
});

test('one of ten deletions at once finds the rule', async () => {
  const { id } = await made(rule(ADDRESS));
  const keys = await Promise.all(
    Array.from({ length: 10 }, () => api.newCaller({ accountId: caller.accountId, scopes: SCOPES })),
  );
  const answers = await Promise.all(keys.map(async (by) => ask('delete', one(id), by)));
  const statuses = answers.map(({ status }) => status).sort();
  expect(statuses).toEqual([200, ...Array.from({ length: 9 }, () => 404)]);
});

test('another account gets the same bytes for a rule as for one that does not exist', async () => {
  const { id } = await made(rule(ADDRESS));
  const nowhere = withoutInstance(await ask('get', one(newId('routingRule', systemClock))));
  for (const method of ['get', 'delete'] as const) {
    expect(withoutInstance(await ask(method, one(id), other))).toBe(nowhere);
  }
  expect((await ask('get', '/v1/inbound/routes', other)).body).toMatchObject({ data: [] });
});

describe('a key', () => {
  const requests = async () => {
    const { id } = await made(rule(ADDRESS));
    return (by: Caller) => [
      () => post(rule(`b@${SHARED_DOMAIN}`), by),
      () => ask('get', '/v1/inbound/routes', by),
      () => ask('get', one(id), by),
      () => ask('delete', one(id), by),
    ];
  };

  test.each([
    ['inbound:read and inbound:send alone', 'live', ['inbound:read', 'inbound:send']],
    ['every scope, and for tests', 'test', SCOPES],
  ] as const)('with %s may do nothing', async (_, kind, scopes) => {
    const { accountId } = caller;
    const by = await api.newCaller({ accountId, kind, scopes });
    const words = kind === 'test' ? 'test key' : 'inbound:manage';
    for (const each of (await requests())(by)) {
      expect(expectProblem(await each(), 'api-key-forbidden')).toContain(words);
    }
  });

  test('with inbound:manage alone may do everything; a missing key or one over its limit may do nothing', async () => {
    const { accountId } = caller;
    const manager = await api.newCaller({ accountId, scopes: ['inbound:manage'] });
    const spent = await api.newCaller({ accountId, scopes: ['inbound:manage'], rateLimitPerMinute: 1 });
    await ask('get', '/v1/inbound/routes', spent);
    const each = await requests();
    for (const send of each(spent)) expectProblem(await send(), 'rate-limited');
    for (const send of each({ ...caller, authorization: 'Bearer none' })) {
      expectProblem(await send(), 'api-key-unauthorized');
    }
    for (const send of each(manager)) expect([200, 201]).toContain((await send()).status);
  });
});
