import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import request from 'supertest';
import { expectProblem, textOf, withoutInstance } from '../../../test/expect-problem.ts';
import { startApi } from '../../../test/start-api.ts';
import type { Caller, TestApi } from '../../../test/start-api.ts';

let api: TestApi;
let caller: Caller;
let webhook: string;

beforeAll(async () => {
  api = await startApi();
});
afterAll(async () => {
  await api.stop();
});
beforeEach(async () => {
  caller = await api.newCaller();
  const response = await request(api.url)
    .post('/v1/webhooks')
    .set('authorization', caller.authorization)
    .send({ endpoint: 'https://hooks.example.com' });
  webhook = (response.body as { id: string }).id;
});

function list(by = caller) {
  return request(api.url).get('/v1/webhooks/dead-letters').set('authorization', by.authorization);
}

function replay(id: string, by = caller) {
  return request(api.url)
    .post(`/v1/webhooks/dead-letters/${id}/replay`)
    .set('authorization', by.authorization);
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
    const entry = { webhook, event_id: expect.stringMatching(/^evt_/) as unknown, type: 'email.sent' };
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

describe('POST /v1/webhooks/dead-letters/{id}/replay', () => {
  test('queues the event again with a fresh set of attempts and removes the dead letter', async () => {
    const id = await api.newDeadLetter(caller.accountId, webhook);
    const response = await replay(id);
    expect(response.status).toBe(200);
    expect(response.body).toEqual({ id, replayed: true });
    expect((await list()).body).toEqual({ object: 'list', data: [] });
    expect(await queued()).toEqual([{ event_id: expect.stringMatching(/^evt_/), attempts: 0 }]);
  });

  test('of fifty at once exactly one is answered 200, and the event is queued once', async () => {
    const id = await api.newDeadLetter(caller.accountId, webhook);
    const responses = await Promise.all(Array.from({ length: 50 }, async () => replay(id)));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    const others = responses.filter(({ status }) => status !== 200);
    expect(others).toHaveLength(49);
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

  test('a body is ignored', async () => {
    const id = await api.newDeadLetter(caller.accountId, webhook);
    expect((await replay(id).send('{"broken')).status).toBe(200);
  });
});
