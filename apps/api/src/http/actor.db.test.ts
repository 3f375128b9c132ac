import { beforeEach, expect, test } from '@jest/globals';
import request from 'supertest';
import { setupApi, SHARED_DOMAIN } from '../../test/start-api.ts';
import type { Caller } from '../../test/start-api.ts';

/* What a key does is in the audit under the key's id. */

const api = setupApi();
let caller: Caller;
let webhook: string;

beforeEach(async () => {
  caller = await api.newCaller({
    scopes: ['webhooks:manage', 'emails:send', 'inbound:manage', 'suppressions:manage'],
  });
  const made = await post('/v1/webhooks', { endpoint: 'https://hooks.example.com/in' });
  webhook = (made.body as { id: string }).id;
});

function post(path: string, body: object = {}, by = caller) {
  return request(api.url).post(path).set('authorization', by.authorization).send(body);
}

function remove(path: string, by = caller) {
  return request(api.url).delete(path).set('authorization', by.authorization);
}

/** The column `before` of the only audit entry. */
async function before(): Promise<unknown> {
  const [entry] = await api.database.query(
    `select before from audit where account_id = $1 and actor <> 'test'`,
    [caller.accountId],
  );
  return entry?.['before'];
}

/** The entries of the caller's account, the oldest first. */
async function audited(): Promise<unknown[]> {
  return api.database.query(
    `select actor_kind, actor, action, target, webhook_id, count from audit where account_id = $1 and actor <> 'test'
     order by id`,
    [caller.accountId],
  );
}

const byTheKey = (entry: object) => ({
  actor_kind: 'key',
  actor: caller.keyId,
  webhook_id: webhook,
  ...entry,
});

test('the audit names the key that replays', async () => {
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

test('the deletion of a webhook; the audit keeps its host', async () => {
  const stranger = await api.newCaller();
  expect((await remove(`/v1/webhooks/${webhook}`, stranger)).status).toBe(404);
  for (const status of [200, 404]) expect((await remove(`/v1/webhooks/${webhook}`)).status).toBe(status);
  expect(await audited()).toEqual([byTheKey({ action: 'webhook.delete', target: webhook, count: 1 })]);
  expect(await before()).toEqual({ host: 'hooks.example.com' });
});

test('the deletion of the webhook of an inbound route', async () => {
  const made = await post('/v1/inbound/routes', {
    match: `hi@${SHARED_DOMAIN}`,
    endpoint: 'https://route.example.com:8443/in',
  });
  const { id } = made.body as { id: string };
  const [owned] = await api.database.query<{ webhook: string }>(
    'select webhook_id as webhook from inbound_routes where id = $1',
    [id],
  );
  for (const status of [200, 404]) expect((await remove(`/v1/inbound/routes/${id}`)).status).toBe(status);
  expect(await audited()).toEqual([
    byTheKey({ action: 'webhook.delete', target: owned?.webhook, webhook_id: owned?.webhook, count: 1 }),
  ]);
  expect(await before()).toEqual({ host: 'route.example.com:8443' });
});

test('the release of a held message', async () => {
  const id = await api.rows.message({ accountId: caller.accountId, held: true });
  expect((await post(`/v1/inbound/messages/${id}/release`)).status).toBe(200);
  expect((await post(`/v1/inbound/messages/${id}/release`)).status).toBe(409);
  expect(await audited()).toEqual([
    byTheKey({ action: 'message.release', target: id, count: 1, webhook_id: null }),
  ]);
  expect(await before()).toEqual({ held_reason: 'spam' });
});

test('the removal of suppressions, by their ids', async () => {
  const addresses = ['ann@b.example', 'bob@b.example'];
  for (const email of addresses) await post('/v1/suppressions', { email });
  const ids = await api.database.query<{ id: string }>(
    'select id from suppressions where account_id = $1 order by address',
    [caller.accountId],
  );
  const removed = await post('/v1/suppressions/batch/remove', { emails: addresses });
  expect([removed.status, ids.length]).toEqual([200, 2]);
  expect(await audited()).toEqual([
    byTheKey({ action: 'suppression.remove', target: caller.accountId, count: 2, webhook_id: null }),
  ]);
  const entry = (await before()) as { suppressions: string[] };
  expect(entry.suppressions.sort()).toEqual(ids.map(({ id }) => id).sort());
});
