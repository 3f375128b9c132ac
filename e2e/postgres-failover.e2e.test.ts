import { afterEach, expect, test } from '@jest/globals';
import { SCOPES } from '@postrider/domain';
import { createApiKeyStore } from '@postrider/store';
import { ACTOR, redisForTests, systemClock, waitFor } from '@postrider/testing';
import { fetchAgainOn429 } from './call-api.ts';
import { openStore } from './open-store.ts';
import { startPostgresFailover } from './postgres-failover.ts';
import { startSystem } from './start-system.ts';

const REQUESTS_AT_ONCE = 8;

/** A test adds what it opens. */
const opened: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

test('after a failover, the API does not stay with the old primary, which now only reads', async () => {
  const servers = await startPostgresFailover();
  opened.push(servers);
  const beforeStore = openStore(servers.firstUrl);
  const redisUrl = redisForTests(); // a limiter in Postgres would refuse every request to a read-only server
  const system = await startSystem({
    ...(redisUrl === undefined ? {} : { redisUrl }),
    database: { url: servers.firstUrl, query: beforeStore.query, drop: () => beforeStore.close() },
    env: { DATABASE_URL: servers.url },
  });
  opened.push(system);
  const leaked = await createApiKeyStore(beforeStore.database, systemClock).create(
    {
      accountId: system.accountId,
      kind: 'live',
      scopes: SCOPES,
      rateLimitPerMinute: 1_000_000,
    },
    ACTOR,
  );
  const api = await system.start('api');
  const base = `http://127.0.0.1:${await api.port()}`;
  const send = async (
    path: string,
    { key = system.apiKey, ...init }: RequestInit & { key?: string } = {},
    ask: (url: string, init: RequestInit) => Promise<Response> = fetchAgainOn429,
  ) => {
    const response = await ask(`${base}${path}`, { ...init, headers: { authorization: `Bearer ${key}` } });
    return { status: response.status, text: await response.text() };
  };
  const atOnce = <T>(work: () => Promise<T>) => Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, work));
  const list = () => send('/v1/webhooks');
  const withLeaked = () => send('/v1/webhooks', { key: leaked.key });
  const create = () =>
    send('/v1/webhooks', {
      method: 'POST',
      body: JSON.stringify({ endpoint: system.receiver.url('/hook'), events: [] }),
    });
  expect((await create()).status).toBe(201);
  for (const { status } of await atOnce(withLeaked)) expect(status).toBe(200);

  const acceptedBefore = servers.accepted;
  await servers.switchOver();
  await waitFor(
    async () => {
      await atOnce(() => send('/v1/webhooks', {}, fetch));
      return servers.accepted >= acceptedBefore + REQUESTS_AT_ONCE;
    },
    { what: 'connections to the old primary' },
  );
  servers.move();

  await waitFor(async () => (await create()).status === 201, { what: 'a webhook to be created' });
  const afterStore = openStore(servers.secondUrl);
  opened.push(afterStore);
  await createApiKeyStore(afterStore.database, systemClock).revoke(leaked.apiKey.id, ACTOR);
  for (const { status } of await atOnce(withLeaked)) expect(status).toBe(401);
  const ids = await afterStore.query<{ id: string }>('select id from webhooks order by created_at desc');
  expect(ids.length).toBeGreaterThan(1);
  for (const { text } of await atOnce(list)) for (const { id } of ids) expect(text).toContain(id);
  expect(await send('/readyz')).toMatchObject({ status: 200 });
  expect(api.running).toBe(true);
});
