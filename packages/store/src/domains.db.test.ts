import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import type { AccountId } from '@postrider/domain';
import { openTestStore } from '../test/open-store.ts';
import type { TestStore } from '../test/open-store.ts';
import { createDomainStore } from './domains.ts';
import type { Domain, DomainStore, NewDomain } from './domains.ts';

const RECORD = { record: 'SPF', name: 'send.b.example', value: 'v=spf1' };

let store: TestStore;
let domains: DomainStore;
let accountId: AccountId;

beforeAll(async () => {
  store = await openTestStore();
  domains = createDomainStore(store.db, store.clock);
});
afterAll(() => store.close());
beforeEach(async () => {
  await store.outside.query('delete from domains');
  accountId = await store.newAccount();
});

async function added(name: string, owner = accountId): Promise<Domain> {
  const domain: NewDomain = { name, region: 'eu-central-1', status: 'pending', records: [RECORD] };
  const found = await domains.add(owner, domain);
  if (found === null) throw new Error(`${name} is taken`);
  return found;
}

describe('a domain', () => {
  test('is found and listed as it was added', async () => {
    const domain = await added('b.example');
    expect(domain).toEqual({
      id: expect.stringMatching(/^dom_/),
      name: 'b.example',
      region: 'eu-central-1',
      status: 'pending',
      records: [RECORD],
      createdAt: store.clock.now(),
    });
    expect(await domains.find(accountId, domain.id)).toEqual(domain);
    expect(await domains.list(accountId, { limit: 1, cursor: null })).toEqual({
      entries: [domain],
      hasMore: false,
    });
    expect([await domains.isTaken('b.example'), await domains.isTaken('c.example')]).toEqual([true, false]);
  });

  test('takes what the provider says of it later', async () => {
    const { id } = await added('b.example');
    expect(await domains.update(accountId, id, { status: 'verified', records: [] })).toBe(true);
    expect(await domains.find(accountId, id)).toMatchObject({ status: 'verified', records: [] });
  });

  test('is no more once deleted, and its name is free', async () => {
    const { id } = await added('b.example');
    expect([await domains.delete(accountId, id), await domains.delete(accountId, id)]).toEqual([true, false]);
    expect(await domains.update(accountId, id, { status: 'verified', records: [] })).toBe(false);
    await added('b.example', await store.newAccount());
  });

  test('of another account reads as missing', async () => {
    const { id } = await added('b.example');
    const stranger = await store.newAccount();
    expect(await domains.find(stranger, id)).toBeNull();
    expect(await domains.list(stranger, { limit: 1, cursor: { side: 'after', id } })).toBeNull();
    expect(await domains.update(stranger, id, { status: 'verified', records: [] })).toBe(false);
    expect(await domains.delete(stranger, id)).toBe(false);
    expect(await domains.find(accountId, newId('domain', store.clock))).toBeNull();
    expect(await domains.find(accountId, id)).toMatchObject({ status: 'pending' });
  });
});

test('a name has one owner, however many ask at once', async () => {
  const owners = await Promise.all(Array.from({ length: 6 }, async () => store.newAccount()));
  const request = { name: 'b.example', region: 'eu-central-1', status: 'pending', records: [] } as const;
  const answers = await Promise.all(owners.map(async (owner) => domains.add(owner, request)));
  expect(answers.filter((answer) => answer !== null)).toHaveLength(1);
});

test('a name has a domain above it at any depth, which is verified and the account’s own', async () => {
  const [above] = [await added('b.example'), await added('pending.example'), await added('x.y.c.example')];
  await domains.update(accountId, above.id, { status: 'verified', records: [] });
  const names = [
    'mail.b.example',
    'a.mail.b.example',
    'b.example',
    'ab.example',
    'a.pending.example',
    'y.c.example',
  ];
  const under = async (owner: AccountId) =>
    Promise.all(names.map(async (name) => domains.hasVerifiedAbove(owner, name)));
  expect(await under(accountId)).toEqual([true, true, false, false, false, false]);
  expect(await under(await store.newAccount())).toEqual(names.map(() => false));
});
