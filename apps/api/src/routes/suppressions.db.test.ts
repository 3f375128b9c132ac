import { beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import request from 'supertest';
import { expectPlainText, expectProblem, textOf, withoutInstance } from '../../test/expect-problem.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const ID = expect.stringMatching(/^sup_[0-9a-z]{26}$/);

const api = setupApi();
let caller: Caller;

beforeAll(async () => void (caller = await newCaller()));

function newCaller() {
  return api.newCaller({ scopes: ['suppressions:manage'] });
}

function post(body: unknown, by = caller, path = '') {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return request(api.url)
    .post(`/v1/suppressions${path}`)
    .set('authorization', by.authorization)
    .set('content-type', 'application/json')
    .send(text);
}

function get(path: string, by = caller) {
  return request(api.url).get(`/v1/suppressions${path}`).set('authorization', by.authorization);
}

/** Asks like the SDK: the Content-Type is JSON, and there is no body. */
function remove(idOrAddress: string, by = caller) {
  return request(api.url)
    .delete(`/v1/suppressions/${idOrAddress}`)
    .set('authorization', by.authorization)
    .set('content-type', 'application/json');
}

async function added(email: string, by = caller): Promise<string> {
  const response = await post({ email }, by);
  expect({ status: response.status, body: response.text }).toMatchObject({ status: 201 });
  return (response.body as { id: string }).id;
}

async function insertComplaint(owner: Caller, address: string): Promise<string> {
  const id = newId('suppression', systemClock);
  await api.database.query(
    `insert into suppressions (id, account_id, address, origin, email_id, created_at)
     values ($1, $2, $3, 'complaint', 'em_1', now())`,
    [id, owner.accountId, address],
  );
  return id;
}

async function eventsOf({ accountId }: Caller): Promise<unknown[]> {
  const rows = await api.database.query<{ type: string; data: string }>(
    'select type, data from events where account_id = $1 order by id',
    [accountId],
  );
  return rows.map(({ type, data }) => ({ type, ...(JSON.parse(data) as object) }));
}

describe('POST /v1/suppressions', () => {
  test('answers 201 with the id, and makes an event for the account’s webhooks', async () => {
    const owner = await newCaller();
    const response = await post({ email: 'Bob@B.Example' }, owner);
    expect(response.status).toBe(201);
    expect(response.body).toEqual({ object: 'suppression', id: ID });
    const { id } = response.body as { id: string };
    expect((await get(`/${id}`, owner)).body).toEqual({
      object: 'suppression',
      id,
      email: 'bob@b.example',
      topic_id: null,
      origin: 'manual',
      source_id: null,
      created_at: TIME,
    });
    expect(await eventsOf(owner)).toEqual([
      {
        type: 'email.unsubscribed',
        email_id: null,
        to: 'bob@b.example',
        topic: null,
        scope: 'all',
        source: 'api',
        occurred_at: TIME,
      },
    ]);
  });

  test('for an address that has one answers 200 with its id, and makes no second event', async () => {
    const owner = await newCaller();
    const id = await added('bob@bücher.example', owner);
    for (const email of ['BOB@BÜCHER.example', 'bob@xn--bcher-kva.example']) {
      const again = await post({ email }, owner);
      expect({ status: again.status, body: again.body as unknown }).toEqual({
        status: 200,
        body: { object: 'suppression', id },
      });
    }
    expect(await eventsOf(owner)).toHaveLength(1);
  });

  test.each([
    ['', 400],
    ['{"email"', 400],
    ['null', 422],
    ['"bob@b.example"', 422],
    ['{}', 422],
    ['[]', 422],
  ])('%j is refused in plain text', async (body, status) => {
    expectPlainText(await post(body), status);
  });

  test.each([
    [{ email: null }, 'email null is not a string.'],
    [{ email: 'bob' }, 'email "bob" is not an email address.'],
    [{ email: 'Bob <bob@b.example>' }, 'email "Bob <bob@b.example>" is not an email address.'],
    [{ email: 'bob\0@b.example' }, 'email "bob\\u0000@b.example" is not an email address.'],
  ])('%j is 400 with the field and the value', async (body, detail) => {
    expect(expectProblem(await post(body), 'validation-failed', 400)).toBe(detail);
  });

  test('a body over 64 KiB is 413', async () => {
    const body = { email: 'bob@b.example', more: 'x'.repeat(65_536) };
    expectProblem(await post(body), 'request-too-large');
  });
});

describe('POST /v1/suppressions/batch/add', () => {
  const add = (body: unknown, by = caller) => post(body, by, '/batch/add');

  test('suppresses each address, and answers an entry for each in the order of the request', async () => {
    const owner = await newCaller();
    const old = await added('old@b.example', owner);
    const response = await add({ emails: ['A@b.example', 'old@b.example', 'a@b.example'] }, owner);
    expect(response.status).toBe(201);
    const { data } = response.body as { data: { id: string }[] };
    expect(data).toEqual([
      { object: 'suppression', id: ID },
      { object: 'suppression', id: old },
      { object: 'suppression', id: data[0]?.id },
    ]);
    expect(await eventsOf(owner)).toHaveLength(2);
    expect((await add({ emails: ['a@b.example'] }, owner)).status).toBe(200);
  });

  test('takes a hundred', async () => {
    const owner = await newCaller();
    const emails = Array.from({ length: 100 }, (_, n) => `n${n}@b.example`);
    expect((await add({ emails }, owner)).status).toBe(201);
    expect(await eventsOf(owner)).toHaveLength(100);
  });

  test.each([
    [{ emails: 'a@b.example' }, 'emails "a@b.example" is not an array of email addresses.'],
    [{ emails: [] }, 'emails [] does not have 1 to 100 addresses.'],
    [{ emails: Array.from({ length: 101 }, () => 'a@b.example') }, / does not have 1 to 100 addresses\.$/],
    [{ emails: ['a@b.example', 'x'] }, 'emails[1] "x" is not an email address.'],
  ])('%j is 400, and nothing is stored', async (body, detail) => {
    const owner = await newCaller();
    expect(expectProblem(await add(body, owner), 'validation-failed', 400)).toMatch(detail);
    expect(await eventsOf(owner)).toEqual([]);
  });

  test('without its field, or not JSON, is refused in plain text', async () => {
    expectPlainText(await add({}), 422);
    expectPlainText(await add('emails'), 400);
  });
});

describe('GET /v1/suppressions', () => {
  test('answers pages, newest first; `origin` filters', async () => {
    const owner = await newCaller();
    const [first, second] = [await added('a@b.example', owner), await insertComplaint(owner, 'c@b.example')];
    const entry = { topic_id: null, created_at: TIME };
    const complaint = { ...entry, id: second, email: 'c@b.example', origin: 'complaint', source_id: 'em_1' };
    const manual = { ...entry, id: first, email: 'a@b.example', origin: 'manual', source_id: null };
    const response = await get('?limit=1', owner);
    expect(response.status).toBe(200);
    expect(response.body).toEqual({ object: 'list', has_more: true, data: [complaint] });
    const rest = await get(`?after=${second}`, owner);
    expect(rest.body).toEqual({ object: 'list', has_more: false, data: [manual] });
    const chosen = await get('?origin=manual', owner);
    expect(chosen.body).toEqual({ object: 'list', has_more: false, data: [manual] });
  });

  test.each(['?limit=x', '?before=sup_1', '?origin=', '?origin=hate', '?origin=manual&origin=bounce'])(
    '%s is 400',
    async (query) => {
      expectProblem(await get(query), 'validation-failed', 400);
    },
  );
});

describe('GET /v1/suppressions/{id or address}', () => {
  test('finds a suppression by its address in any notation', async () => {
    const id = await added('carol@bücher.example');
    for (const written of ['carol@xn--bcher-kva.example', 'CAROL@BÜCHER.EXAMPLE', 'carol@bücher.example']) {
      const response = await get(`/${encodeURIComponent(written)}`);
      expect(response.status).toBe(200);
      expect(response.body).toMatchObject({
        object: 'suppression',
        id,
        email: 'carol@xn--bcher-kva.example',
      });
    }
  });

  test('a malformed id, a missing one and another account’s give the same 404, for GET and DELETE', async () => {
    const owner = await newCaller();
    const id = await added('dave@b.example', owner);
    const complaint = await insertComplaint(owner, 'eve@b.example');
    const asked = ['x', id, complaint, newId('suppression', systemClock), '%00', 'dave@b.example'];
    for (const act of [(each: string) => get(`/${each}`), remove]) {
      const responses = await Promise.all(asked.map(async (each) => act(each)));
      for (const response of responses) expectProblem(response, 'not-found');
      expect(new Set(responses.map(withoutInstance)).size).toBe(1);
      expect(responses.map(textOf).join()).not.toMatch(/dave|sup_/);
    }
    expect((await get(`/${id}`, owner)).status).toBe(200);
  });
});

describe('DELETE /v1/suppressions/{id or address}', () => {
  test('removes by id and by address, once', async () => {
    for (const asked of ['id', 'FRANK@b.example']) {
      const id = await added('frank@b.example');
      const key = asked === 'id' ? id : encodeURIComponent(asked);
      const response = await remove(key);
      expect({ status: response.status, body: response.body as unknown }).toEqual({
        status: 200,
        body: { object: 'suppression', id, deleted: true },
      });
      expectProblem(await remove(key), 'not-found');
    }
  });

  test('a suppression after a complaint is removed only with a reason', async () => {
    const owner = await newCaller();
    const id = await insertComplaint(owner, 'gail@b.example');
    const without = [
      remove(id, owner),
      remove(`${id}?reason=`, owner),
      remove(`${id}?reason=%20`, owner),
      remove(id, owner).send('{}'),
      remove(id, owner).send('null'),
      remove(id, owner).send('["reason"]'),
      remove(id, owner).send('{"reason":null}'),
      remove('gail%40b.example', owner),
    ];
    for (const response of await Promise.all(without)) {
      expect(expectProblem(response, 'validation-failed', 400)).toContain('reason');
    }
    expect((await get(`/${id}`, owner)).status).toBe(200);
    expect((await remove(`${id}?reason=She%20asked`, owner)).status).toBe(200);
    const again = await insertComplaint(owner, 'gail@b.example');
    expect((await remove('gail@b.example', owner).send('{"reason":"She asked again"}')).status).toBe(200);
    const kept = await api.database.query(
      'select suppression_id, reason from removed_complaints where account_id = $1 order by removed_at',
      [owner.accountId],
    );
    expect(kept).toEqual([
      { suppression_id: id, reason: 'She asked' },
      { suppression_id: again, reason: 'She asked again' },
    ]);
  });

  test('a reason in the query wins over the body, unless it is blank', async () => {
    const owner = await newCaller();
    for (const query of ['reason=', 'reason=%20', 'reason=Hers']) {
      const id = await insertComplaint(owner, 'ivy@b.example');
      expect((await remove(`${id}?${query}`, owner).send('{"reason":"His"}')).status).toBe(200);
    }
    const kept = await api.database.query<{ reason: string }>(
      'select reason from removed_complaints where account_id = $1 order by removed_at',
      [owner.accountId],
    );
    expect(kept.map(({ reason }) => reason)).toEqual(['His', 'His', 'Hers']);
  });

  test('a reason given twice in the query is 400, and the suppression stays', async () => {
    const owner = await newCaller();
    const id = await insertComplaint(owner, 'jack@b.example');
    for (const query of ['reason=a&reason=b', 'reason=&reason=b', 'reason=a&reason=']) {
      const response = await remove(`${id}?${query}`, owner).send('{"reason":"His"}');
      expect(expectProblem(response, 'validation-failed', 400)).toMatch(
        /^reason \[.*\] is given more than once\.$/,
      );
    }
    expect((await get(`/${id}`, owner)).status).toBe(200);
  });

  test('an invalid reason is 400 for every suppression; a body that is not JSON is refused in plain text', async () => {
    const id = await added('hugh@b.example');
    for (const body of ['{"reason":7}', '{"reason":"a\\u0000"}', `{"reason":"${'x'.repeat(501)}"}`]) {
      expectProblem(await remove(id).send(body), 'validation-failed', 400);
    }
    expectProblem(await remove(`${id}?reason=%00`), 'validation-failed', 400);
    expectPlainText(await remove(id).send('{"reason"'), 400);
    expectProblem(await remove(id).send(`{"more":"${'x'.repeat(65_536)}"}`), 'request-too-large');
    expect((await get(`/${id}`)).status).toBe(200);
  });
});

describe('POST /v1/suppressions/batch/remove', () => {
  const removeAll = (body: unknown, by = caller, query = '') => post(body, by, `/batch/remove${query}`);

  test('removes those that exist, by addresses or by ids', async () => {
    const owner = await newCaller();
    const [a, b] = [await added('a@b.example', owner), await added('b@b.example', owner)];
    const gone = await removeAll({ emails: ['A@b.example', 'nobody@b.example'] }, owner);
    expect(gone.status).toBe(200);
    expect(gone.body).toEqual({ data: [{ object: 'suppression', id: a, deleted: true }] });
    const missing = newId('suppression', systemClock);
    expect((await removeAll({ ids: [missing, a, b] }, owner)).body).toEqual({
      data: [{ object: 'suppression', id: b, deleted: true }],
    });
  });

  test('removes none without a reason when one of them came from a complaint', async () => {
    const owner = await newCaller();
    const [manual, complaint] = [
      await added('a@b.example', owner),
      await insertComplaint(owner, 'c@b.example'),
    ];
    const ids = [manual, complaint];
    expectProblem(await removeAll({ ids }, owner), 'validation-failed', 400);
    expect((await get(`/${manual}`, owner)).status).toBe(200);
    const gone = await removeAll({ ids, reason: 'They asked' }, owner);
    expect((gone.body as { data: unknown[] }).data).toHaveLength(2);
  });

  test.each([
    [{ ids: ['sup_1'] }, 'ids[0] "sup_1" is not the id of a suppression.'],
    [{ ids: [] }, 'ids [] does not have 1 to 100 entries.'],
    [{ ids: 'sup_1' }, 'ids "sup_1" is not an array.'],
    [{ emails: ['x'] }, 'emails[0] "x" is not an email address.'],
    [{ emails: ['a@b.example'], ids: [] }, 'emails ["a@b.example"] cannot be used together with ids.'],
    [{ emails: ['a@b.example'], reason: 7 }, 'reason 7 is not a string.'],
    [
      { emails: ['a@b.example'], topic: 't' },
      '"topic" is not a field of this route; the nearest one is emails.',
    ],
    [{ ids: [], origin: 'bounce' }, 'ids [] does not have 1 to 100 entries.'],
  ])('%j is 400', async (body, detail) => {
    expect(expectProblem(await removeAll(body), 'validation-failed', 400)).toBe(detail);
  });

  test('an unknown field is 400, and nothing is removed', async () => {
    const owner = await newCaller();
    const id = await added('a@b.example', owner);
    expectProblem(await removeAll({ ids: [id], origin: 'bounce' }, owner), 'validation-failed', 400);
    expect((await get(`/${id}`, owner)).status).toBe(200);
  });

  test('with neither field, or not JSON, is refused in plain text', async () => {
    expectPlainText(await removeAll({}), 422);
    expectPlainText(await removeAll('[]'), 422);
    expectPlainText(await removeAll(''), 400);
  });
});
