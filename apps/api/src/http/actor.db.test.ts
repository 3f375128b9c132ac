import { beforeEach, expect, test } from '@jest/globals';
import request from 'supertest';
import { setupApi } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

/* What a key does is in the audit under the key's id. */

const api = setupApi();
let caller: Caller;
let webhook: string;

beforeEach(async () => {
  caller = await api.newCaller();
  const made = await post('/v1/webhooks', { endpoint: 'https://hooks.example.com/in' });
  webhook = (made.body as { id: string }).id;
});

function post(path: string, body: object = {}, by = caller) {
  return request(api.url).post(path).set('authorization', by.authorization).send(body);
}

/** The entries of the caller's account, the oldest first. */
async function audited(): Promise<unknown[]> {
  return api.database.query(
    `select actor_kind, actor, action, target, webhook_id, count from audit where account_id = $1 order by id`,
    [caller.accountId],
  );
}

const byTheKey = (entry: object) => ({
  actor_kind: 'key',
  actor: caller.keyId,
  webhook_id: webhook,
  ...entry,
});

test('replays', async () => {
  const letters = [
    await api.newDeadLetter(caller.accountId, webhook),
    await api.newDeadLetter(caller.accountId, webhook),
  ];
  const events = await api.database.query<{ id: string }>(
    'select event_id as id from dead_letters where id = any ($1) order by id',
    [letters],
  );
  await api.database.query(`update webhooks set created_at = '2001-01-01'`);
  const [first] = events;
  const stranger = await api.newCaller();
  expect((await post(`/v1/webhooks/dead-letters/${letters[0]}/replay`, {}, stranger)).status).toBe(404);
  expect((await post(`/v1/webhooks/dead-letters/${letters[0]}/replay`)).status).toBe(200);
  expect((await post('/v1/webhooks/dead-letters/replay', { webhook })).body).toEqual({
    replayed: 1,
    remaining: 0,
  });
  await api.database.query('delete from deliveries');
  expect((await post(`/v1/webhooks/${webhook}/events/${first?.id}/replay`)).status).toBe(200);
  expect(await audited()).toEqual([
    byTheKey({ action: 'event.replay', target: first?.id, count: 1 }),
    byTheKey({ action: 'dead-letters.replay', target: webhook, count: 1 }),
    byTheKey({ action: 'event.replay', target: first?.id, count: 1 }),
  ]);
});
