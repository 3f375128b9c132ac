import { describe, expect, test } from '@jest/globals';
import { setupCli } from '../test/run-in-process.ts';

const { cli, json, database } = setupCli();

const makeAccount = () => json('account', 'create', '--name', 'Acme').then(({ id }) => String(id));

describe('account limit', () => {
  test('sets the limits of domains and unverified domains, and keeps the other limits', async () => {
    const id = await makeAccount();
    await json('account', 'limit', id, '--webhooks', '250');
    const set = (limit: string) => json('account', 'limit', id, '--unverified-domains', limit);
    await json('account', 'limit', id, '--domains', '500');
    expect(await set('3')).toEqual({ id, webhooks: 250, domains: 500, unverified_domains: 3 });
    expect((await cli('account', 'limit', id)).stdout).toBe(
      'webhooks: 250\ndomains: 500\nunverified domains: 3\n',
    );
    expect(await set('default')).toEqual({ id, webhooks: 250, domains: 500, unverified_domains: null });
  });
});

describe('domain release', () => {
  test('removes a domain from its account: its name is free, and noted for the API', async () => {
    const accountId = await makeAccount();
    await database.query(
      `insert into domains (id, account_id, name, region, status, records, created_at)
       values ('dom_1', $1, 'b.example', 'r', 'verified', '[]', now())`,
      [accountId],
    );
    const released = { id: 'dom_1', name: 'b.example', account: accountId };
    expect(await json('domain', 'release', 'B.example')).toEqual(released);
    expect(await database.query('select name from domains')).toEqual([]);
    expect(await database.query('select name from released_domains')).toEqual([{ name: 'b.example' }]);
    expect(await cli('domain', 'release', 'b.example')).toMatchObject({
      code: 1,
      stderr: 'postrider: nobody has the domain b.example\n',
    });
  });

  test('of a malformed domain name is wrong usage', async () => {
    expect(await cli('domain', 'release', 'co.uk')).toMatchObject({ code: 2 });
  });
});
