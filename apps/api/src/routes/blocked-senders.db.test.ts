import { beforeEach, describe, expect, test } from '@jest/globals';
import { LIMITS, newId, SCOPES } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import request from 'supertest';
import { expectPlainText, expectProblem, withoutInstance } from '../../test/expect-problem.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const ID = expect.stringMatching(/^bs_[0-9a-z]{26}$/);
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const ALL = '/v1/inbound/blocked-senders';

const api = setupApi();
let caller: Caller;
let other: Caller;

beforeEach(async () => {
  await api.database.query('delete from blocked_senders');
  [caller, other] = [await api.newCaller({ scopes: SCOPES }), await api.newCaller({ scopes: SCOPES })];
});

function post(body: unknown, by = caller) {
  return request(api.url).post(ALL).set('authorization', by.authorization).send(JSON.stringify(body));
}

function ask(method: 'get' | 'delete', path: string, by = caller) {
  return request(api.url)[method](`${ALL}${path}`).set('authorization', by.authorization);
}

async function blocked(sender: string, by = caller): Promise<string> {
  const response = await post({ sender }, by);
  expect(response.status).toBe(200);
  return (response.body as { id: string }).id;
}

/** Ten keys of the account: charges of one key wait for each other. */
async function tenKeys(): Promise<Caller[]> {
  const { accountId } = caller;
  return Promise.all(Array.from({ length: 10 }, () => api.newCaller({ accountId, scopes: SCOPES })));
}

/** Stores `count` blocked senders of the account. */
const fill = (count: number) =>
  api.database.query(
    `insert into blocked_senders (id, account_id, sender, created_at)
     select 'bs_' || n, $1, 'n' || n || '.example', now() from generate_series(1, $2) n`,
    [caller.accountId, count],
  );

describe('a blocked sender', () => {
  test.each([
    ['Ann+shop@News.B\u00fccher.example', 'ann+shop@news.xn--bcher-kva.example'],
    ['Gr\u00fc\u00dfe@Shop.example', 'gr\u00fc\u00dfe@shop.example'],
    ['B\u00fccher.Example', 'xn--bcher-kva.example'],
  ])('%s is kept as %s: made, read, listed, and deleted', async (written, sender) => {
    const response = await post({ sender: written });
    const { id } = response.body as { id: string };
    const entry = { object: 'blocked_sender', id: ID, sender, created_at: TIME };
    expect({ status: response.status, body: response.body as unknown }).toEqual({ status: 200, body: entry });
    expect((await ask('get', `/${id}`)).body).toEqual({ ...entry, id });
    expect((await ask('get', '')).body).toEqual({
      object: 'list',
      has_more: false,
      data: [{ ...entry, id }],
    });
    const deleted = await ask('delete', `/${id}`);
    expect({ status: deleted.status, body: deleted.body as unknown }).toEqual({
      status: 200,
      body: { object: 'blocked_sender', id, deleted: true },
    });
    for (const method of ['get', 'delete'] as const) expectProblem(await ask(method, `/${id}`), 'not-found');
  });

  test('may have 256 characters of four bytes before the @, and no more', async () => {
    const long = (length: number) => `${'\u{20bb7}'.repeat(length)}@shop.example`;
    expect((await post({ sender: long(256) })).body).toMatchObject({ sender: long(256) });
    expectProblem(await post({ sender: long(257) }), 'validation-failed');
  });

  test('that is blocked already is answered with its entry, however it is written', async () => {
    const first = await post({ sender: 'ann@shop.example' });
    const again = await post({ sender: 'Ann@SHOP.example' });
    expect({ status: again.status, body: again.body as unknown }).toEqual({
      status: 200,
      body: first.body as unknown,
    });
    await blocked('shop.example'); // another entry
    await blocked('ann@shop.example', other);
  });

  test('is made once by ten requests at once, and each gets its id', async () => {
    const keys = await tenKeys();
    const answers = await Promise.all(keys.map(async (by) => post({ sender: 'shop.example' }, by)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(new Set(answers.map(({ body }) => (body as { id: string }).id)).size).toBe(1);
  });

  test('is listed in pages, newest first', async () => {
    const ids = [];
    for (let n = 0; n < 3; n += 1) ids.unshift(await blocked(`n${n}.example`));
    const page = async (query: string) => {
      const { data, has_more: more } = (await ask('get', `?${query}`)).body as {
        data: { id: string }[];
        has_more: boolean;
      };
      return [data.map(({ id }) => id), more];
    };
    expect(await page('limit=2')).toEqual([ids.slice(0, 2), true]);
    expect(await page(`limit=2&after=${ids[1]}`)).toEqual([ids.slice(2), false]);
    expectProblem(await ask('get', '?limit=0'), 'validation-failed');
    expectProblem(await ask('get', `?after=${ids[0]}`, other), 'validation-failed');
  });
});

describe('the limit of an account', () => {
  const full = `The account has as many blocked senders as it may have: ${LIMITS.blockedSenders}.`;

  test('one more is 422; a sender that is blocked already is not, and other accounts are not affected', async () => {
    await fill(LIMITS.blockedSenders - 1);
    await blocked('last.example');
    expect(expectProblem(await post({ sender: 'more.example' }), 'validation-failed')).toBe(full);
    expect((await post({ sender: 'last.example' })).status).toBe(200);
    await blocked('more.example', other);
  });

  test('is exact, however many are blocked at once', async () => {
    await fill(LIMITS.blockedSenders - 3);
    const keys = await tenKeys();
    const answers = await Promise.all(keys.map(async (by, n) => post({ sender: `a${n}.example` }, by)));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 200, 200, ...Array.from({ length: 7 }, () => 422)]);
  });
});

describe('a body', () => {
  test.each([
    ['without sender', {}],
    ['that is no object', ['a.example']],
  ])('%s is refused in plain text', async (_, body) => {
    expectPlainText(await post(body), 422);
  });

  test('that is not JSON is refused in plain text, and one that is too large with 413', async () => {
    const raw = (body: string) =>
      request(api.url).post(ALL).set('authorization', caller.authorization).send(body);
    expectPlainText(await raw('{'), 400);
    expectProblem(await raw('x'.repeat(65_537)), 'request-too-large');
  });

  test.each([
    ['example'],
    ['Ann <ann@shop.example>'],
    ['*@shop.example.'],
    ['@shop.example'],
    ['"a b"@shop.example'],
    ['a\u0000.example'],
    [1],
    [null],
  ])('with the sender %j is a fault, without a list of faults', async (sender) => {
    const response = await post({ sender });
    expectProblem(response, 'validation-failed');
    expect(response.body).not.toHaveProperty('errors');
  });
});

test('another account gets the same bytes for an entry as for one that does not exist', async () => {
  const id = await blocked('shop.example');
  const nowhere = withoutInstance(await ask('get', `/${newId('blockedSender', systemClock)}`));
  for (const method of ['get', 'delete'] as const) {
    expect(withoutInstance(await ask(method, `/${id}`, other))).toBe(nowhere);
  }
  expect((await ask('get', '', other)).body).toMatchObject({ data: [] });
});

describe('a key', () => {
  const requests = async () => {
    const id = await blocked('shop.example');
    return (by: Caller) => [
      () => post({ sender: 'b.example' }, by),
      () => ask('get', '', by),
      () => ask('get', `/${id}`, by),
      () => ask('delete', `/${id}`, by),
    ];
  };

  test.each([
    ['inbound:read and inbound:send alone', 'live', ['inbound:read', 'inbound:send']],
    ['every scope, and for tests', 'test', SCOPES],
  ] as const)('with %s may do nothing', async (_, kind, scopes) => {
    const by = await api.newCaller({ accountId: caller.accountId, kind, scopes });
    const words = kind === 'test' ? 'test key' : 'inbound:manage';
    for (const each of (await requests())(by)) {
      expect(expectProblem(await each(), 'api-key-forbidden')).toContain(words);
    }
  });

  test('with inbound:manage alone may do everything; a missing key or one over its limit may do nothing', async () => {
    const { accountId } = caller;
    const manager = await api.newCaller({ accountId, scopes: ['inbound:manage'] });
    const spent = await api.newCaller({ accountId, scopes: ['inbound:manage'], rateLimitPerMinute: 1 });
    await ask('get', '', spent);
    const each = await requests();
    for (const send of each(spent)) expectProblem(await send(), 'rate-limited');
    for (const send of each({ ...caller, authorization: 'Bearer none' })) {
      expectProblem(await send(), 'api-key-unauthorized');
    }
    for (const send of each(manager)) expect((await send()).status).toBe(200);
  });
});
