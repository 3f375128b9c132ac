import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { apiKeyDigest } from '@postrider/domain';
import { createAccountStore, createApiKeyStore, openDatabase } from '@postrider/store';
import type { ApiKeyStore, Database } from '@postrider/store';
import { ACTOR, systemClock } from '@postrider/testing';
import { setupCli } from '../test/run-in-process.ts';

const { cli, json, database } = setupCli();
/** The key stores of two API processes. */
let opened: Database;
let keys: ApiKeyStore;

beforeEach(async () => {
  opened = openDatabase(
    { databaseUrl: database.url, size: 1, applicationName: 'api', onError: () => undefined },
    { send: () => undefined, close: async () => undefined },
  );
  keys = createApiKeyStore(opened, systemClock);
});
afterEach(() => opened.close());

async function newKey() {
  const { id: accountId } = await createAccountStore(opened, systemClock).create('Acme');
  const request = { accountId, kind: 'live', scopes: ['emails:read'], rateLimitPerMinute: null } as const;
  return { accountId, ...(await keys.create(request, ACTOR)) };
}

test('once `key revoke` returns, no process finds the key, not even one that has used it before', async () => {
  const { apiKey, key } = await newKey();
  expect(await keys.findActive(apiKeyDigest(key))).toEqual({ ...apiKey, isSuspended: false });
  const { code } = await cli('key', 'revoke', apiKey.id);
  expect([code, await keys.findActive(apiKeyDigest(key))]).toEqual([0, null]);
});

test('once `account suspend` returns, every process knows, and so it does after `account resume`', async () => {
  const [acme, other] = [await newKey(), await newKey()];
  const isSuspended = async ({ key }: typeof acme) => (await keys.findActive(apiKeyDigest(key)))?.isSuspended;
  const change = (verb: string, id: string) => json('account', verb, id, '--as', 'ada');
  expect(await isSuspended(acme)).toBe(false);
  const { suspended_at: at } = await change('suspend', acme.accountId);
  expect(at).toMatch(/Z$/);
  expect([await isSuspended(acme), await isSuspended(other)]).toEqual([true, false]);
  await database.query(`update accounts set suspended_at = '2020-01-01Z' where id = $1`, [acme.accountId]);
  const first = { id: acme.accountId, suspended_at: '2020-01-01T00:00:00.000Z' };
  expect(await change('suspend', acme.accountId)).toEqual(first);
  expect(await json('account', 'show', acme.accountId)).toMatchObject(first);
  expect((await cli('account', 'show', acme.accountId)).stdout).toContain(
    '\nsuspended: 2020-01-01T00:00:00.000Z\n',
  );
  const resumed = { id: acme.accountId, suspended_at: null };
  expect(await isSuspended(acme)).toBe(true); // known for a second from now on
  expect(await change('resume', acme.accountId)).toEqual(resumed);
  expect(await isSuspended(acme)).toBe(false);
  expect(await change('resume', acme.accountId)).toEqual(resumed);
  const [active, suspended] = [{ state: 'active' }, { state: 'suspended' }];
  expect(
    await database.query(
      `select actor, action, target, before, after from audit where actor = 'ada' order by id`,
    ),
  ).toEqual([
    { actor: 'ada', action: 'account.suspend', target: acme.accountId, before: active, after: suspended },
    { actor: 'ada', action: 'account.resume', target: acme.accountId, before: suspended, after: active },
  ]);
});

test.each(['suspend', 'resume'])('account %s of a missing account fails in one line', async (verb) => {
  const missing = 'acct_01jd0000000000000000000009';
  expect(await cli('account', verb, missing)).toEqual({
    code: 1,
    stdout: '',
    stderr: `postrider: no account ${missing}\n`,
  });
});
