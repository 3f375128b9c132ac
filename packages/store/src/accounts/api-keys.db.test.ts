import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { apiKeyDigest, newApiKey, newId, SCOPES } from '@postrider/domain';
import { ACTOR } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { createApiKeyStore } from './api-keys.ts';
import type { ApiKeyStore, NewApiKey } from './api-keys.ts';

const store = setupStore();
let keys: ApiKeyStore;
let wish: NewApiKey;

beforeAll(async () => {
  keys = createApiKeyStore(store.db, store.clock);
});
beforeEach(async () => {
  wish = {
    accountId: await store.newAccount(),
    kind: 'live',
    scopes: ['webhooks:manage', 'emails:send'],
    rateLimitPerMinute: 7,
  };
});

test('a key is found by its secret text, with its kind, scopes and rate limit', async () => {
  const { apiKey, key } = await keys.create(wish, ACTOR);
  expect(key).toMatch(/^pr_live_/);
  expect(apiKey).toEqual({
    ...wish,
    id: expect.stringMatching(/^key_/),
    name: null,
    createdAt: store.clock.now(),
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
  });
  expect(await keys.findActive(apiKeyDigest(key))).toEqual({ ...apiKey, isSuspended: false });
});

test('the text of a test key begins with pr_test_', async () => {
  const { apiKey, key } = await keys.create({ ...wish, kind: 'test', rateLimitPerMinute: null }, ACTOR);
  expect(key).toMatch(/^pr_test_/);
  expect(apiKey).toMatchObject({ kind: 'test', rateLimitPerMinute: null });
});

test('only the SHA-256 of a key is stored', async () => {
  const { apiKey, key } = await keys.create(wish, ACTOR);
  const [row] = await store.outside.query<{ digest: Buffer; row: string }>(
    'select digest, api_keys::text as row from api_keys where id = $1',
    [apiKey.id],
  );
  expect(row?.digest.equals(apiKeyDigest(key))).toBe(true);
  expect(row?.row).not.toContain(key.slice(8));
});

test('unknown and revoked keys are not found', async () => {
  const { apiKey, key } = await keys.create(wish, ACTOR);
  expect(await keys.findActive(apiKeyDigest(newApiKey('live')))).toBeNull();
  await keys.revoke(apiKey.id, ACTOR);
  expect(await keys.findActive(apiKeyDigest(key))).toBeNull();
});

test('a second revocation keeps the time of the first', async () => {
  const { apiKey } = await keys.create(wish, ACTOR);
  const revokedAt = store.clock.now();
  expect(await keys.revoke(apiKey.id, ACTOR)).toEqual({ ...apiKey, revokedAt });
  store.clock.advance(1_000);
  expect(await keys.revoke(apiKey.id, ACTOR)).toEqual({ ...apiKey, revokedAt });
});

test('revoking a missing key returns null', async () => {
  expect(await keys.revoke(newId('apiKey', store.clock), ACTOR)).toBeNull();
});

test('the list has only the account’s keys, also revoked ones, newest first', async () => {
  await keys.create({ ...wish, accountId: await store.newAccount() }, ACTOR);
  const first = await keys.create(wish, ACTOR);
  store.clock.advance(1);
  const second = await keys.create(wish, ACTOR);
  await keys.revoke(first.apiKey.id, ACTOR);
  const list = await keys.list(wish.accountId);
  expect(list.map(({ id }) => id)).toEqual([second.apiKey.id, first.apiKey.id]);
});

test('a scope that this version does not know is left out', async () => {
  const { apiKey, key } = await keys.create(wish, ACTOR);
  await store.outside.query(`update api_keys set scopes = '{webhooks:manage,moon:land}' where id = $1`, [
    apiKey.id,
  ]);
  expect((await keys.findActive(apiKeyDigest(key)))?.scopes).toEqual(['webhooks:manage']);
});

const OF_MAIL = ['emails:send', 'emails:read', 'inbound:read', 'inbound:send', 'inbound:manage'];

test('a test key is found without scopes that test keys cannot have', async () => {
  const scopes = SCOPES;
  const { apiKey, key } = await keys.create({ ...wish, scopes, kind: 'test' }, ACTOR);
  const [stored] = await store.outside.query('select scopes from api_keys where id = $1', [apiKey.id]);
  expect(stored).toEqual({ scopes });
  expect((await keys.findActive(apiKeyDigest(key)))?.scopes).toEqual(OF_MAIL);
  expect((await keys.list(wish.accountId))[0]?.scopes).toEqual(OF_MAIL);
});
