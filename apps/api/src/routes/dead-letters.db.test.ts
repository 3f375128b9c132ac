import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import request from 'supertest';
import {
  expectPlainText,
  expectProblem,
  textOf,
  wholeAnswer,
  withoutInstance,
} from '../../test/expect-problem.ts';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown;

const api = setupApi();
let caller: Caller;
let webhook: string;

beforeEach(async () => {
  caller = await api.newCaller();
  const response = await request(api.url)
    .post('/v1/webhooks')
    .set('authorization', caller.authorization)
    .send({ endpoint: 'https://hooks.example.com' });
  webhook = (response.body as { id: string }).id;
});

function list(by = caller, query = '') {
  return request(api.url).get(`/v1/webhooks/dead-letters${query}`).set('authorization', by.authorization);
}

function replayMany(body: unknown, by = caller) {
  return request(api.url)
    .post('/v1/webhooks/dead-letters/replay')
    .set('authorization', by.authorization)
    .send(typeof body === 'string' ? body : JSON.stringify(body));
}

/** Changes the type and reason that the factory gives (email.sent, attempts_exhausted), and makes the letter newer. */
async function change(id: string, type: string, reason: string): Promise<void> {
  await api.database.query(
    `update dead_letters set type = $2, reason = $3::dead_letter_reason, created_at = created_at + interval '1 s'
     where id = $1`,
    [id, type, reason],
  );
}

function replay(id: string, by = caller) {
  return request(api.url)
    .post(`/v1/webhooks/dead-letters/${id}/replay`)
    .set('authorization', by.authorization);
}

/** Three dead letters, made at the beginning of January 1, 2 and 3. */
async function lettersOf3Days(): Promise<[string, string, string]> {
  const make = async (day: number) => {
    const id = await api.newDeadLetter(caller.accountId, webhook);
    const at = `2026-01-0${day}T00:00:00Z`;
    await api.database.query('update dead_letters set created_at = $2 where id = $1', [id, at]);
    return id;
  };
  return [await make(1), await make(2), await make(3)];
}

function removeWebhook() {
  return request(api.url).delete(`/v1/webhooks/${webhook}`).set('authorization', caller.authorization);
}

async function queued() {
  return api.database.query('select event_id, attempts from deliveries where webhook_id = $1', [webhook]);
}

describe('GET /v1/webhooks/dead-letters', () => {
  test('answers every field of a dead letter, newest first', async () => {
    const older = await api.newDeadLetter(caller.accountId, webhook);
    const newer = await api.newDeadLetter(caller.accountId, webhook);
    await api.database.query(
      `update dead_letters set created_at = now() + interval '1 s', reason = 'rejected', attempts = 0,
       status_code = null, last_error = 'refused' where id = $1`,
      [newer],
    );
    const response = await list();
    expect(response.status).toBe(200);
    const entry = {
      webhook,
      event_id: expect.stringMatching(/^evt_/) as unknown,
      type: 'email.sent',
      created_at: TIME,
    };
    expect(response.body).toEqual({
      object: 'list',
      data: [
        { id: newer, ...entry, attempts: 0, reason: 'rejected', last_error: 'refused', status_code: null },
        {
          id: older,
          ...entry,
          attempts: 8,
          reason: 'attempts_exhausted',
          last_error: 'HTTP 503',
          status_code: 503,
        },
      ],
    });
  });

  test('answers 100 at the most', async () => {
    for (let n = 0; n < 101; n += 1) await api.newDeadLetter(caller.accountId, webhook);
    const body = (await list()).body as { data: unknown[] };
    expect(body.data).toHaveLength(100);
  });

  test('shows nothing of another account', async () => {
    await api.newDeadLetter(caller.accountId, webhook);
    expect((await list(await api.newCaller())).body).toEqual({ object: 'list', data: [] });
  });
});

describe('the query of GET /v1/webhooks/dead-letters', () => {
  const idsOf = async (query: string) => {
    const response = await list(caller, query);
    expect(response.status).toBe(200);
    return (response.body as { data: { id: string }[] }).data.map(({ id }) => id);
  };

  test('filters the list by webhook, type and reason, and continues after a dead letter', async () => {
    const first = await api.newDeadLetter(caller.accountId, webhook);
    const second = await api.newDeadLetter(caller.accountId, webhook);
    await change(second, 'email.opened', 'rejected');
    expect(await idsOf(`?webhook=${webhook}`)).toEqual([second, first]);
    expect(await idsOf('?type=email.opened')).toEqual([second]);
    expect(await idsOf('?reason=attempts_exhausted')).toEqual([first]);
    expect(await idsOf(`?webhook=${webhook}&type=email.opened&reason=rejected`)).toEqual([second]);
    expect(await idsOf(`?after=${second}`)).toEqual([first]);
    expect(await idsOf(`?after=${first}`)).toEqual([]);
    expect(await idsOf(`?webhook=${newId('webhook', systemClock)}`)).toEqual([]);
  });

  test('`since` takes what was made at that time or later, `until` what was made before it', async () => {
    const [oldest, middle, newest] = await lettersOf3Days();
    expect(await idsOf('?since=2026-01-02T00:00:00Z')).toEqual([newest, middle]);
    expect(await idsOf('?until=2026-01-02T01:00:00%2B01:00')).toEqual([oldest]);
    expect(await idsOf('?since=2026-01-02T00:00:00Z&until=2026-01-03T00:00:00Z')).toEqual([middle]);
    expect(await idsOf(`?webhook=${webhook}&after=${newest}&since=2026-01-02T00:00:00Z`)).toEqual([middle]);
  });

  test('another account’s webhook has an empty list, like one that does not exist', async () => {
    await api.newDeadLetter(caller.accountId, webhook);
    const stranger = await api.newCaller();
    const foreign = await list(stranger, `?webhook=${webhook}`);
    const missing = await list(stranger, `?webhook=${newId('webhook', systemClock)}`);
    expect(foreign.body).toEqual({ object: 'list', data: [] });
    expect(wholeAnswer(foreign)).toBe(wholeAnswer(missing));
  });

  test.each([
    ['?type=email.opend', 'type "email.opend" is not a known event type.'],
    ['?type=', 'type "" is not a known event type.'],
    ['?reason=tired', 'reason "tired" is not one of attempts_exhausted, rejected.'],
    ['?webhook=x', 'webhook "x" is not the id of a webhook.'],
    [
      '?webhook=dl_01arz3ndektsv4rrffq69g5fav',
      'webhook "dl_01arz3ndektsv4rrffq69g5fav" is not the id of a webhook.',
    ],
    ['?after=%00', 'after "\\u0000" is not the id of a dead letter.'],
    ['?type=email.sent&type=email.sent', 'type ["email.sent","email.sent"] is given more than once.'],
    ['?since=yesterday', 'since "yesterday" is not a time such as 2026-11-20T10:00:00Z.'],
    ['?since=2026-11-20T10:00Z', 'since "2026-11-20T10:00Z" is not a time such as 2026-11-20T10:00:00Z.'],
    [
      '?until=2026-02-30T00:00:00Z',
      'until "2026-02-30T00:00:00Z" is not a time such as 2026-11-20T10:00:00Z.',
    ],
    ['?webhook_id=wh_1', '"webhook_id" is not a parameter of this route; the nearest one is webhook.'],
    ['?limit=1', '"limit" is not a parameter of this route; the nearest one is since.'],
    [
      '?__proto__=1&type=email.sent',
      '"__proto__" is not a parameter of this route; the nearest one is webhook.',
    ],
  ])('%s is refused as 422 with the parameter and the value', async (query, detail) => {
    const response = await list(caller, query);
    expect(expectProblem(response, 'validation-failed')).toBe(detail);
    expect(textOf(response)).not.toContain('"errors"');
  });

  test('an unknown cursor and another account’s get the same refusal', async () => {
    const foreign = await api.newDeadLetter(caller.accountId, webhook);
    const stranger = await api.newCaller();
    for (const id of [foreign, newId('deadLetter', systemClock)]) {
      expect(expectProblem(await list(stranger, `?after=${id}`), 'validation-failed')).toBe(
        `after "${id}" is not the id of a dead letter of the account.`,
      );
    }
  });
});

describe('POST /v1/webhooks/dead-letters/replay', () => {
  test('replays the dead letters that match, and answers how many were replayed and how many remain', async () => {
    const first = await api.newDeadLetter(caller.accountId, webhook);
    const second = await api.newDeadLetter(caller.accountId, webhook);
    await change(second, 'email.opened', 'rejected');
    const some = await replayMany({ webhook, type: 'email.opened', reason: 'rejected' });
    expect(some.status).toBe(200);
    expect(some.body).toEqual({ replayed: 1, remaining: 0 });
    expect((await replayMany({ webhook, before: first })).body).toEqual({ replayed: 0, remaining: 0 });
    const old = await replayMany({ webhook, before: '2026-01-01T00:00:00+01:00' });
    expect(old.body).toEqual({ replayed: 0, remaining: 0 });
    expect((await replayMany({ webhook, before: '0001-01-01T00:00:00Z' })).body).toEqual({
      replayed: 0,
      remaining: 0,
    });
    expect((await replayMany({ webhook, before: '9999-12-31T23:59:59.999Z' })).body).toEqual({
      replayed: 1,
      remaining: 0,
    });
    expect(await queued()).toHaveLength(2);
  });

  test('`since` and `until` bound the time, alone and beside `before`', async () => {
    const [, , newest] = await lettersOf3Days();
    const times = { since: '2026-01-02T00:00:00Z', until: '2026-01-03T00:00:00Z' };
    const replayedBy = async (more: object) => (await replayMany({ webhook, ...more })).body as unknown;
    expect(await replayedBy({ ...times, before: '2026-01-02T00:00:00Z' })).toEqual({
      replayed: 0,
      remaining: 0,
    });
    expect(await replayedBy(times)).toEqual({ replayed: 1, remaining: 0 });
    expect(await replayedBy({ since: times.since, before: newest })).toEqual({ replayed: 0, remaining: 0 });
    expect(await replayedBy({ until: times.until })).toEqual({ replayed: 1, remaining: 0 });
    expect(await replayedBy({ since: times.until })).toEqual({ replayed: 1, remaining: 0 });
  });

  test.each([
    [{ sincee: '2030-01-01T00:00:00Z' }, '"sincee"', 'since'],
    [{ status_code: 503 }, '"status_code"', 'reason'],
    [{ Type: 'email.sent' }, '"Type"', 'type'],
  ])('the unknown field of %j is refused as 422, and nothing is replayed', async (more, unknown, nearest) => {
    await api.newDeadLetter(caller.accountId, webhook);
    const response = await replayMany({ webhook, ...more });
    expect(expectProblem(response, 'validation-failed')).toBe(
      `${unknown} is not a field of this route; the nearest one is ${nearest}.`,
    );
    expect(await queued()).toEqual([]);
  });

  test('takes 1,000 at the most', async () => {
    await api.database.query(
      `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts,
                                 reason, last_error)
       select 'dl_' || lpad(n::text, 26, '0'), $1, $2, 'evt_' || $2 || n, 'email.sent', now(), '{}', 8, 'rejected', 'x'
       from generate_series(1, 1001) n`,
      [caller.accountId, webhook],
    );
    expect((await replayMany({ webhook })).body).toEqual({ replayed: 1_000, remaining: 1 });
    expect((await replayMany({ webhook })).body).toEqual({ replayed: 1, remaining: 0 });
    expect(await queued()).toHaveLength(1_001);
  });

  test('ten at once queue each event once', async () => {
    for (let n = 0; n < 30; n += 1) await api.newDeadLetter(caller.accountId, webhook);
    const answers = await Promise.all(Array.from({ length: 10 }, async () => replayMany({ webhook })));
    const replayed = answers.map(({ body }) => (body as { replayed: number }).replayed);
    expect(replayed.reduce((sum, each) => sum + each)).toBe(30);
    expect(await queued()).toHaveLength(30);
  });

  test.each([
    ['{', 400],
    ['{}', 422],
    ['[]', 422],
    ['{"type":"email.sent"}', 422],
  ])('the body %s is refused in plain text', async (body, status) => {
    expectPlainText(await replayMany(body), status);
  });

  test.each([
    [{ webhook: 7 }, 'webhook 7 is not a string.'],
    [{ webhook: 'x', type: 'moon' }, 'type "moon" is not a known event type.'],
    [{ webhook: 'x', reason: null }, 'reason null is not a string.'],
    [{ webhook: 'x', reason: 'tired' }, 'reason "tired" is not one of attempts_exhausted, rejected.'],
    [
      { webhook: 'x', before: 'yesterday' },
      'before "yesterday" is neither a time such as 2026-11-20T10:00:00Z nor the id of a dead letter.',
    ],
    ...[
      '2026-02-30T00:00:00Z',
      // These are the years 0 and 10000 in UTC. Postgres does not read them.
      '0000-01-01T00:00:00Z',
      '0001-01-01T00:00:00+23:59',
      '9999-12-31T23:59:59-23:59',
    ].map((before): [object, string] => [
      { webhook: 'x', before },
      `before "${before}" is neither a time such as 2026-11-20T10:00:00Z nor the id of a dead letter.`,
    ]),
  ])('%j is refused as 422 with the field and the value', async (body, detail) => {
    expect(expectProblem(await replayMany(body), 'validation-failed')).toBe(detail);
  });

  test('an unknown `before` is refused, and nothing is replayed', async () => {
    await api.newDeadLetter(caller.accountId, webhook);
    const before = newId('deadLetter', systemClock);
    expect(expectProblem(await replayMany({ webhook, before }), 'validation-failed')).toBe(
      `before "${before}" is not the id of a dead letter of the account.`,
    );
    expect(await queued()).toEqual([]);
  });

  test('another account’s webhook, a missing one, a deleted one and a malformed id give the same 404', async () => {
    await api.newDeadLetter(caller.accountId, webhook);
    const stranger = await api.newCaller();
    const answers = [];
    for (const id of [webhook, newId('webhook', systemClock), 'x', '', '\0', webhook.toUpperCase()]) {
      answers.push(await replayMany({ webhook: id }, stranger));
    }
    await removeWebhook();
    answers.push(await replayMany({ webhook }));
    for (const answer of answers) expectProblem(answer, 'not-found');
    expect(new Set(answers.map(wholeAnswer)).size).toBe(1);
    expect(await queued()).toEqual([]);
  });

  test('racing the DELETE of its webhook it answers 200 or 404, and nothing stays behind', async () => {
    for (let n = 0; n < 20; n += 1) await api.newDeadLetter(caller.accountId, webhook);
    const [removal, answer] = await Promise.all([removeWebhook(), replayMany({ webhook })]);
    expect(removal.status).toBe(200);
    expect([200, 404]).toContain(answer.status);
    expect(await queued()).toEqual([]);
  });
});

describe('POST /v1/webhooks/dead-letters/{id}/replay', () => {
  test('queues the event again with a fresh set of attempts and removes the dead letter', async () => {
    const id = await api.newDeadLetter(caller.accountId, webhook);
    const response = await replay(id);
    expect(response.status).toBe(200);
    expect(response.body).toEqual({ id, replayed: true });
    expect((await list()).body).toEqual({ object: 'list', data: [] });
    expect(await queued()).toEqual([{ event_id: expect.stringMatching(/^evt_/), attempts: 0 }]);
  });

  test('exactly one of fifteen requests at once gets 200, and the event is queued once', async () => {
    const id = await api.newDeadLetter(caller.accountId, webhook);
    const responses = await Promise.all(Array.from({ length: 15 }, async () => replay(id)));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    const others = responses.filter(({ status }) => status !== 200);
    expect(others).toHaveLength(14);
    for (const response of others) expectProblem(response, 'not-found');
    expect(await queued()).toHaveLength(1);
  });

  test('racing the DELETE of its webhook it answers 200 or 404, and nothing stays behind', async () => {
    const ids: string[] = [];
    while (ids.length < 20) ids.push(await api.newDeadLetter(caller.accountId, webhook));
    const racers = ids.map(async (id) => replay(id));
    const [removal, ...replays] = await Promise.all([removeWebhook(), ...racers]);
    expect(removal.status).toBe(200);
    for (const { status } of replays) expect([200, 404]).toContain(status);
    expect(await queued()).toEqual([]);
    expect((await list()).body).toEqual({ object: 'list', data: [] });
  });

  test('a dead letter whose webhook was deleted is gone', async () => {
    const id = await api.newDeadLetter(caller.accountId, webhook);
    await removeWebhook();
    expectProblem(await replay(id), 'not-found');
  });

  test('a malformed id, a missing one and another account’s give the same 404, which names no id', async () => {
    const id = await api.newDeadLetter(caller.accountId, webhook);
    const stranger = await api.newCaller();
    const ids = [id, newId('deadLetter', systemClock), webhook, 'x', '%00', '..%2f'];
    const responses = await Promise.all(ids.map(async (each) => replay(each, stranger)));
    for (const response of responses) expectProblem(response, 'not-found');
    expect(new Set(responses.map(withoutInstance)).size).toBe(1);
    expect(responses.map(textOf).join()).not.toContain(id);
    expect((await replay(id)).status).toBe(200);
  });

  test('a field in the body is refused, and nothing is replayed; an empty object is no field', async () => {
    const id = await api.newDeadLetter(caller.accountId, webhook);
    const response = await replay(id).send({ since: '2030-01-01T00:00:00Z' });
    expect(expectProblem(response, 'validation-failed')).toBe('"since" is not a field of this route.');
    expectPlainText(await replay(id).type('json').send('{"broken'), 400);
    expect(await queued()).toEqual([]);
    expect((await replay(id).send({})).status).toBe(200);
  });
});
