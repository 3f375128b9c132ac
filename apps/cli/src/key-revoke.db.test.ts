import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createAccountStore, createApiKeyStore, openDatabase } from '@postrider/store';
import type { ApiKeyStore, Database } from '@postrider/store';
import { createTestDatabase } from '@postrider/testing';
import type { TestDatabase } from '@postrider/testing';
import { runInProcess } from '../test/run-in-process.ts';

const clock = { now: () => new Date() };

let database: TestDatabase;
/** The key stores of two API processes. */
let opened: Database;
let keys: ApiKeyStore;

beforeEach(async () => {
  database = await createTestDatabase();
  opened = openDatabase(
    { databaseUrl: database.url, size: 1, applicationName: 'api', onError: () => undefined },
    { send: () => undefined, close: async () => undefined },
  );
  keys = createApiKeyStore(opened, clock);
});
afterEach(async () => {
  await opened.close();
  await database.drop();
});

test('once `key revoke` returns, no process finds the key, not even one that has used it before', async () => {
  const account = await createAccountStore(opened, clock).create('Acme');
  const { apiKey, key } = await keys.create({
    accountId: account.id,
    kind: 'live',
    scopes: ['emails:read'],
    rateLimitPerMinute: null,
  });
  expect(await keys.findActive(key)).toEqual(apiKey);
  const { code } = await runInProcess(['key', 'revoke', apiKey.id], { DATABASE_URL: database.url });
  expect([code, await keys.findActive(key)]).toEqual([0, null]);
});
