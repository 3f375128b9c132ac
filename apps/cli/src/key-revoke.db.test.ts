import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createAccountStore, createApiKeyStore, openDatabase } from '@postrider/store';
import type { ApiKeyStore, Database } from '@postrider/store';
import { ACTOR } from '@postrider/testing';
import { setupCli } from '../test/run-in-process.ts';

const clock = { now: () => new Date() };

const { cli, database } = setupCli();
/** The key stores of two API processes. */
let opened: Database;
let keys: ApiKeyStore;

beforeEach(async () => {
  opened = openDatabase(
    { databaseUrl: database.url, size: 1, applicationName: 'api', onError: () => undefined },
    { send: () => undefined, close: async () => undefined },
  );
  keys = createApiKeyStore(opened, clock);
});
afterEach(() => opened.close());

test('once `key revoke` returns, no process finds the key, not even one that has used it before', async () => {
  const account = await createAccountStore(opened, clock).create('Acme');
  const { apiKey, key } = await keys.create(
    {
      accountId: account.id,
      kind: 'live',
      scopes: ['emails:read'],
      rateLimitPerMinute: null,
    },
    ACTOR,
  );
  expect(await keys.findActive(key)).toEqual(apiKey);
  const { code } = await cli('key', 'revoke', apiKey.id);
  expect([code, await keys.findActive(key)]).toEqual([0, null]);
});
