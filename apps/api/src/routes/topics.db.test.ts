import { beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import request from 'supertest';
import { expectProblem, textOf, withoutInstance } from '../../test/expect-problem.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const NEWS = { name: 'News', default_subscription: 'opt_in' };
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

const api = setupApi();
let caller: Caller;

beforeAll(async () => void (caller = await newCaller()));

function newCaller() {
  return api.newCaller({ scopes: ['suppressions:manage'] });
}

function post(body: unknown, by = caller) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return request(api.url).post('/v1/topics').set('authorization', by.authorization).send(text);
}

function get(path: string, by = caller) {
  return request(api.url).get(`/v1/topics${path}`).set('authorization', by.authorization);
}

function patch(id: string, body: unknown, by = caller) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return request(api.url).patch(`/v1/topics/${id}`).set('authorization', by.authorization).send(text);
}

function remove(id: string, by = caller) {
  return request(api.url).delete(`/v1/topics/${id}`).set('authorization', by.authorization);
}

async function created(body: object = NEWS, by = caller): Promise<string> {
  const response = await post(body, by);
  expect({ status: response.status, body: response.text }).toMatchObject({ status: 200 });
  return (response.body as { id: string }).id;
}

describe('POST /v1/topics', () => {
  test('answers 200 with the id, and the topic reads as it was written', async () => {
    const body = { ...NEWS, description: 'Every Friday ☃ <b>', visibility: 'public' };
    const response = await post(body);
    expect(response.status).toBe(200);
    expect(response.body).toEqual({ object: 'topic', id: expect.stringMatching(/^top_[0-9a-z]{26}$/) });
    const { id } = response.body as { id: string };
    const found = await get(`/${id}`);
    expect(found.status).toBe(200);
    expect(found.body).toEqual({
      object: 'topic',
      id,
      name: 'News',
      description: 'Every Friday ☃ <b>',
      default_subscription: 'opt_in',
      created_at: TIME,
    });
  });

  test('accepts as many characters as the limits allow, and null as no description', async () => {
    const name = '😀'.repeat(50);
    const long = await created({ name, description: 'é'.repeat(200), default_subscription: 'opt_out' });
    expect((await get(`/${long}`)).body).toMatchObject({ name, default_subscription: 'opt_out' });
    const none = await created({ ...NEWS, description: null });
    expect((await get(`/${none}`)).body).toMatchObject({ description: null });
  });

  test.each([
    ['', 'The body is not valid JSON.'],
    ['{"name":', 'The body is not valid JSON.'],
    ['null', 'name is required.'],
    ['[]', 'name is required.'],
    [{ default_subscription: 'opt_in' }, 'name is required.'],
    [{ name: 'News' }, 'default_subscription is required.'],
    [{ ...NEWS, name: null }, 'name null is not a string.'],
    [{ ...NEWS, name: ' ' }, 'name " " is blank.'],
    [{ ...NEWS, name: '' }, 'name "" is blank.'],
    [{ ...NEWS, name: 'x'.repeat(51) }, `name "${'x'.repeat(51)}" is longer than 50 characters.`],
    [{ ...NEWS, name: 'a\0b' }, 'name "a\\u0000b" contains a control character.'],
    [{ ...NEWS, name: 'a\ud800' }, 'name "a\\ud800" contains half of a surrogate pair.'],
    [{ ...NEWS, description: 7 }, 'description 7 is not a string.'],
    [{ ...NEWS, description: 'a\nb' }, 'description "a\\nb" contains a control character.'],
    [{ ...NEWS, default_subscription: 'opt' }, 'default_subscription "opt" is neither opt_in nor opt_out.'],
  ])('%j is refused as 400 with the field and the value, and nothing is stored', async (body, detail) => {
    const other = await newCaller();
    expect(expectProblem(await post(body, other), 'validation-failed', 400)).toBe(detail);
    expect((await get('', other)).body).toEqual({ object: 'list', has_more: false, data: [] });
  });

  test('a body over 64 KiB is 413', async () => {
    expectProblem(await post({ ...NEWS, more: 'x'.repeat(65_536) }), 'request-too-large');
  });
});

describe('GET /v1/topics', () => {
  test('answers the account’s topics, the newest first, in pages', async () => {
    const owner = await newCaller();
    const [first, second] = [await created({ ...NEWS, name: '1' }, owner), await created(NEWS, owner)];
    const entry = { description: null, default_subscription: 'opt_in', created_at: TIME };
    const response = await get('?limit=1', owner);
    expect(response.status).toBe(200);
    expect(response.body).toEqual({
      object: 'list',
      has_more: true,
      data: [{ ...entry, id: second, name: 'News' }],
    });
    expect((await get(`?after=${second}`, owner)).body).toEqual({
      object: 'list',
      has_more: false,
      data: [{ ...entry, id: first, name: '1' }],
    });
  });

  test('an invalid page is 400, also with another account’s topic as a cursor', async () => {
    const foreign = await created(NEWS, await newCaller());
    for (const query of ['?limit=0', '?after=x', `?after=${foreign}`]) {
      expectProblem(await get(query), 'validation-failed', 400);
    }
  });
});

describe('PATCH /v1/topics/{id}', () => {
  const shown = async (id: string) => (await get(`/${id}`)).body as object;

  test('changes the fields that it is given, and no others', async () => {
    const id = await created({ ...NEWS, description: 'Weekly' });
    const other = await created();
    const [before, beforeOfOther] = [await shown(id), await shown(other)];
    const response = await patch(id, { id, name: 'Offers' });
    expect({ status: response.status, body: response.body as unknown }).toEqual({
      status: 200,
      body: { object: 'topic', id },
    });
    expect(await shown(id)).toEqual({ ...before, name: 'Offers' });
    expect((await patch(id, { description: null })).status).toBe(200);
    expect(await shown(id)).toMatchObject({ name: 'Offers', description: null });
    expect((await patch(id, { name: 'News', description: 'Monthly' })).status).toBe(200);
    expect(await shown(id)).toMatchObject({ name: 'News', description: 'Monthly' });
    expect(await shown(other)).toEqual(beforeOfOther);
  });

  test.each([
    ['[', 'The body is not valid JSON.'],
    ['[]', 'name or description is required.'],
    ['{"id":"top_1"}', 'name or description is required.'],
    ['{"name":" "}', 'name " " is blank.'],
    ['{"name":null}', 'name null is not a string.'],
    [JSON.stringify({ description: 'x'.repeat(201) }), expect.stringContaining('longer than 200 characters')],
    ['{"name":"A","default_subscription":"opt_out"}', 'default_subscription "opt_out" cannot be changed.'],
  ])('%s is refused with 400, and changes nothing', async (body, detail) => {
    const id = await created();
    const before = await shown(id);
    expect(expectProblem(await patch(id, body), 'validation-failed', 400)).toEqual(detail);
    expect(await shown(id)).toEqual(before);
  });
});

describe('GET and DELETE /v1/topics/{id}', () => {
  test('a topic that is deleted is gone, with the suppressions about it; its mail stays', async () => {
    const owner = await api.newCaller({ scopes: ['suppressions:manage', 'emails:send', 'emails:read'] });
    const id = await created(NEWS, owner);
    const email = { from: 'a@a.example', to: 'b@b.example', subject: 'Hi', text: 'Hi' };
    const sent = await request(api.url)
      .post('/v1/emails')
      .set('authorization', owner.authorization)
      .send(email);
    const { id: emailId } = sent.body as { id: string };
    await api.database.query('update emails set topic_id = $1 where id = $2', [id, emailId]);
    await api.database.query(
      `insert into suppressions (id, account_id, address, topic_id, origin, created_at)
       values ('sup_1', $1, 'b@b.example', $2, 'unsubscribe', now())`,
      [owner.accountId, id],
    );
    const response = await remove(id, owner);
    expect(response.status).toBe(200);
    expect(response.body).toEqual({ object: 'topic', id, deleted: true });
    expectProblem(await get(`/${id}`, owner), 'not-found');
    expectProblem(await remove(id, owner), 'not-found');
    expect(await api.database.query('select 1 from suppressions where topic_id = $1', [id])).toEqual([]);
    expect(await api.database.query('select 1 from emails where id = $1', [emailId])).toHaveLength(1);
  });

  test('a malformed id, a missing one and another account’s give the same 404, which names no id', async () => {
    const id = await created(NEWS, await newCaller());
    for (const act of [(each: string) => get(`/${each}`), remove]) {
      const ids = ['x', id, newId('topic', systemClock), id.toUpperCase(), '%00', 'a%2Fb'];
      const responses = await Promise.all(ids.map(async (each) => act(each)));
      for (const response of responses) expectProblem(response, 'not-found');
      expect(new Set(responses.map(withoutInstance)).size).toBe(1);
      expect(responses.map(textOf).join()).not.toContain(id);
    }
  });
});
