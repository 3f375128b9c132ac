import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId, RESERVED_NAMES, SCOPES } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import type { Rows } from '@postrider/testing';
import request from 'supertest';
import { expectPlainText, expectProblem, withoutInstance } from '../../test/expect-problem.ts';
import { SHARED_DOMAIN, setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const ID = expect.stringMatching(/^ibx_[0-9a-z]{26}$/);
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

const api = setupApi();
let caller: Caller;

beforeEach(async () => {
  await api.database.query('delete from inboxes');
  await api.database.query('delete from domains');
  await api.database.query('delete from released_addresses');
  caller = await api.newCaller({ scopes: SCOPES });
});

function post(body: object, by = caller) {
  return request(api.url).post('/v1/inboxes').set('authorization', by.authorization).send(body);
}

function ask(method: 'get' | 'delete', inbox: string, by = caller) {
  return request(api.url)[method](`/v1/inboxes${inbox}`).set('authorization', by.authorization);
}

function patch(inbox: string, body: object, by = caller) {
  return request(api.url).patch(`/v1/inboxes/${inbox}`).set('authorization', by.authorization).send(body);
}

async function made(body: object, by = caller): Promise<string> {
  const response = await post(body, by);
  expect(response.status).toBe(201);
  return (response.body as { id: string }).id;
}

const ownDomain: Rows['domain'] = async (...domain) => api.rows.domain(...domain);

describe('an inbox', () => {
  test('is made, read by id and by address, listed, and deleted', async () => {
    const response = await post({ email_address: `Sup.Port+x@${SHARED_DOMAIN}`, from_name: 'The shop' });
    expect({ status: response.status, body: response.body as unknown }).toEqual({
      status: 201,
      body: { object: 'inbox', id: ID },
    });
    const { id } = response.body as { id: string };
    const entry = {
      id,
      name: `sup.port@${SHARED_DOMAIN}`,
      email_address: `sup.port@${SHARED_DOMAIN}`,
      from_name: 'The shop',
      unread: 0,
      last_received: null,
      created_at: TIME,
      updated_at: TIME,
    };
    const whole = {
      object: 'inbox',
      ...entry,
      domain_id: '',
      receiving_address: `sup.port@${SHARED_DOMAIN}`,
      drafts: 0,
    };
    expect((await ask('get', `/${id}`)).body).toEqual(whole);
    expect((await ask('get', `/sup.port%2Bother%40${SHARED_DOMAIN.toUpperCase()}`)).body).toEqual(whole);
    expect((await ask('get', '')).body).toEqual({ object: 'list', has_more: false, data: [entry] });
    const deleted = await ask('delete', `/sup.port%40${SHARED_DOMAIN}`);
    expect(deleted.body).toEqual({ object: 'inbox', id, deleted: true });
    expectProblem(await ask('get', `/${id}`), 'not-found');
    await made({ email_address: `sup.port@${SHARED_DOMAIN}` }); // its address is free
  });

  test('can be asked for by user name and domain', async () => {
    const id = await made({ username: 'Help', domain: SHARED_DOMAIN, name: 'Help' });
    expect((await ask('get', `/${id}`)).body).toMatchObject({
      name: 'Help',
      email_address: `help@${SHARED_DOMAIN}`,
    });
  });

  test('may have an address on a domain that the account has verified, by that exact name', async () => {
    const domainId = await ownDomain(caller.accountId, 'shop.example');
    const id = await made({ email_address: 'a@shop.example' });
    expect((await ask('get', `/${id}`)).body).toMatchObject({ domain_id: domainId });
    await api.database.query(`update domains set status = 'failed', first_verified_at = now()`);
    expect((await ask('get', `/${id}`)).body).toMatchObject({ domain_id: domainId });
    await ownDomain(caller.accountId, 'pending.example', 'pending');
    await ownDomain((await api.newCaller()).accountId, 'other.example');
    for (const domain of ['sub.shop.example', 'pending.example', 'other.example', 'nobody.example']) {
      expectProblem(await post({ email_address: `a@${domain}` }), 'validation-failed');
    }
  });

  test.each(RESERVED_NAMES)('never has the name %s on a shared domain', async (name) => {
    const address = `${name.toUpperCase()}+tag@${SHARED_DOMAIN}`;
    for (const body of [{ email_address: address }, { username: name, domain: SHARED_DOMAIN }]) {
      const answer = await post(body);
      expectProblem(answer, 'validation-failed');
      expect((answer.body as { detail: string }).detail).toBe(
        `${name}@${SHARED_DOMAIN} is reserved: no account may have it on a shared domain.`,
      );
    }
    await ownDomain(caller.accountId, 'shop.example');
    await made({ email_address: `${name}@shop.example` });
  });

  test('leaves its address on a shared domain to its account alone, for 30 days', async () => {
    const address = `left@${SHARED_DOMAIN}`;
    const stranger = await api.newCaller({ scopes: SCOPES });
    await made({ email_address: address });
    await ask('delete', `/${encodeURIComponent(address)}`);
    expectProblem(await post({ email_address: address }, stranger), 'inbox-exists');
    await made({ email_address: address });
    const age = (days: string) =>
      api.database.query('update released_addresses set released_at = now() - $1::interval', [days]);
    await age('30 days 1 hour');
    await ask('delete', `/${encodeURIComponent(address)}`);
    expectProblem(await post({ email_address: address }, stranger), 'inbox-exists');
    await age('29 days 23 hours');
    expectProblem(await post({ email_address: address }, stranger), 'inbox-exists');
    await age('30 days 1 hour');
    await made({ email_address: address }, stranger);
    await ask('delete', `/${encodeURIComponent(address)}`, stranger);
    expectProblem(await post({ email_address: address }), 'inbox-exists');
  });

  test('leaves nothing reserved on a domain of the account', async () => {
    await ownDomain(caller.accountId, 'shop.example');
    await made({ email_address: 'left@shop.example' });
    await ask('delete', '/left%40shop.example');
    expect(await api.database.query('select address from released_addresses')).toEqual([]);
  });

  test('is listed in pages of the key’s account and kind, newest first', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) ids.unshift(await made({ email_address: `a${n}@${SHARED_DOMAIN}` }));
    const page = async (query: string) => {
      const { data, has_more: more } = (await ask('get', query)).body as {
        data: { id: string }[];
        has_more: boolean;
      };
      return [data.map(({ id }) => id), more];
    };
    expect(await page('?limit=2')).toEqual([ids.slice(0, 2), true]);
    expect(await page(`?limit=2&after=${ids[1]}`)).toEqual([ids.slice(2), false]);
    expect(await page(`?before=${ids[1]}`)).toEqual([ids.slice(0, 1), false]);
    const strangers = [
      await api.newCaller({ scopes: SCOPES }),
      await api.newCaller({ accountId: caller.accountId, kind: 'test', scopes: SCOPES }),
    ];
    for (const by of strangers) {
      expect((await ask('get', '', by)).body).toMatchObject({ data: [] });
      expectProblem(await ask('get', `?after=${ids[0]}`, by), 'validation-failed');
    }
  });

  test.each([
    ['no address', {}],
    ['no domain', { username: 'a' }],
    ['a body that is no object', []],
  ])('%s is refused in plain text', async (_, body) => {
    expectPlainText(await post(body), 422);
  });

  test.each([
    ['a name with the address', { email_address: `A <a@${SHARED_DOMAIN}>` }],
    ['no text', { email_address: 1 }],
    ['a tag alone', { email_address: `+a@${SHARED_DOMAIN}` }],
    ['what means a whole domain in a rule', { email_address: `*@${SHARED_DOMAIN}` }],
    ['the same by its parts', { username: '*', domain: SHARED_DOMAIN }],
    ['a broken user name', { username: 'a b', domain: SHARED_DOMAIN }],
    ['a broken domain', { username: 'a', domain: 'a b' }],
    ['a name too long', { email_address: `a@${SHARED_DOMAIN}`, name: 'x'.repeat(101) }],
    ['a line break in from_name', { email_address: `a@${SHARED_DOMAIN}`, from_name: 'a\nb' }],
  ])('%s is a fault, without a list of faults', async (_, body) => {
    const response = await post(body);
    expectProblem(response, 'validation-failed');
    expect(response.body).not.toHaveProperty('errors');
  });
});

describe('an address', () => {
  const address = `a@${SHARED_DOMAIN}`;

  test('belongs to one inbox of all accounts and kinds, in any notation', async () => {
    await made({ email_address: address });
    const test = await api.newCaller({
      accountId: caller.accountId,
      kind: 'test',
      scopes: ['inbound:manage'],
    });
    const other = await api.newCaller({ scopes: SCOPES });
    for (const by of [caller, test, other]) {
      expectProblem(await post({ email_address: `A+b@${SHARED_DOMAIN}` }, by), 'inbox-exists');
    }
  });

  test('that ten accounts request at once goes to one of them', async () => {
    const callers = await Promise.all(Array.from({ length: 10 }, () => api.newCaller({ scopes: SCOPES })));
    const statuses = await Promise.all(
      callers.map(async (by) => (await post({ email_address: address }, by)).status),
    );
    expect(statuses.sort()).toEqual([201, ...Array.from({ length: 9 }, () => 409)]);
  });

  test('on a domain with a new owner is free for that owner', async () => {
    await ownDomain(caller.accountId, 'shop.example');
    const id = await made({ email_address: 'a@shop.example' });
    await api.database.query('delete from domains');
    const owner = await api.newCaller({ scopes: SCOPES });
    await ownDomain(owner.accountId, 'shop.example');
    await made({ email_address: 'a@shop.example' }, owner);
    expect((await ask('get', `/${id}`)).body).toMatchObject({ id, domain_id: '' }); // stays readable
    expectProblem(await post({ email_address: 'b@shop.example' }), 'validation-failed');
  });
});

describe('PATCH /v1/inboxes/{id or address}', () => {
  interface Shown {
    readonly name: string;
    readonly from_name: string | null;
    readonly created_at: string;
    readonly updated_at: string;
  }
  const shown = async (id: string) => (await ask('get', `/${id}`)).body as Shown;

  test('changes the names that it is given, and no others', async () => {
    const id = await made({ email_address: `a@${SHARED_DOMAIN}`, name: 'Help', from_name: 'The shop' });
    const other = await made({ email_address: `b@${SHARED_DOMAIN}` });
    const before = await shown(other);
    const response = await patch(id, { name: 'Support' });
    expect({ status: response.status, body: response.body as unknown }).toEqual({
      status: 200,
      body: { object: 'inbox', id },
    });
    expect(await shown(id)).toMatchObject({ name: 'Support', from_name: 'The shop' });
    expect((await patch(`A%2bx@${SHARED_DOMAIN}`, { from_name: null })).body).toEqual({
      object: 'inbox',
      id,
    });
    const after = await shown(id);
    expect(after).toMatchObject({ name: 'Support', from_name: null });
    expect(Date.parse(after.updated_at)).toBeGreaterThan(Date.parse(after.created_at));
    expect(await shown(other)).toEqual(before);
  });

  test('without a name is refused in plain text', async () => {
    const id = await made({ email_address: `a@${SHARED_DOMAIN}` });
    for (const body of [{}, [], { more: 1 }]) expectPlainText(await patch(id, body), 422);
  });

  test.each([
    [{ name: null }, 'name null is not a string.'],
    [{ from_name: 'x'.repeat(101) }, expect.stringContaining('is longer than 100 characters')],
  ])('%j is refused, and changes nothing', async (body, detail) => {
    const id = await made({ email_address: `a@${SHARED_DOMAIN}` });
    const before = await shown(id);
    expect(expectProblem(await patch(id, body), 'validation-failed')).toEqual(detail);
    expect(await shown(id)).toEqual(before);
  });
});

describe('to a key of the other kind', () => {
  test('an inbox gives the same bytes as one that does not exist', async () => {
    const test = await api.newCaller({ accountId: caller.accountId, kind: 'test', scopes: SCOPES });
    const live = await made({ email_address: `live@${SHARED_DOMAIN}` });
    const own = await made({ email_address: `test@${SHARED_DOMAIN}` }, test);
    const nowhere = withoutInstance(await ask('get', `/${newId('inbox', systemClock)}`));
    for (const [id, by] of [
      [live, test],
      [own, caller],
    ] as const) {
      expect(withoutInstance(await ask('get', `/${id}`, by))).toBe(nowhere);
      expect(withoutInstance(await ask('delete', `/${id}`, by))).toBe(nowhere);
      expect(withoutInstance(await patch(id, { name: 'X' }, by))).toBe(nowhere);
    }
    const listed = (await ask('get', '', test)).body as { data: { id: string }[] };
    expect(listed.data.map(({ id }) => id)).toEqual([own]);
  });
});

test('reading needs inbound:read, which inbound:manage implies; writing needs inbound:manage', async () => {
  const reader = await api.newCaller({ accountId: caller.accountId, scopes: ['inbound:read'] });
  const sender = await api.newCaller({ accountId: caller.accountId, scopes: ['inbound:send'] });
  const manager = await api.newCaller({ accountId: caller.accountId, scopes: ['inbound:manage'] });
  const id = await made({ email_address: `a@${SHARED_DOMAIN}` }, manager);
  expect((await ask('get', `/${id}`, manager)).status).toBe(200);
  expect((await ask('get', `/${id}`, reader)).status).toBe(200);
  expectProblem(await ask('get', `/${id}`, sender), 'api-key-forbidden');
  for (const by of [reader, sender]) {
    expectProblem(await ask('delete', `/${id}`, by), 'api-key-forbidden');
    expectProblem(await patch(id, { name: 'X' }, by), 'api-key-forbidden');
    expectProblem(await post({ email_address: `b@${SHARED_DOMAIN}` }, by), 'api-key-forbidden');
  }
});
