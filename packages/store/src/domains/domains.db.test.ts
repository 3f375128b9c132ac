import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import type { AccountId } from '@postrider/domain';
import { setupStore } from '../../test/open-store.ts';
import { createDomainStore } from './domains.ts';
import type { Domain, DomainStore, NewDomain } from './domains.ts';

/** The account's own DKIM keys, which the provider found in the DNS. */
const KEYS = [{ record: 'DKIM', status: 'verified' }];
const MANY = { all: 1_000, unverified: 1_000 };
const RECORD = { record: 'SPF', name: 'send.b.example', value: 'v=spf1' };

const store = setupStore();
let domains: DomainStore;
let accountId: AccountId;

beforeAll(async () => {
  domains = createDomainStore(store.db, store.clock);
});
beforeEach(async () => {
  await store.outside.query('delete from domains');
  accountId = await store.newAccount();
});

async function added(name: string, owner = accountId): Promise<Domain> {
  const domain: NewDomain = { name, region: 'eu-central-1', status: 'pending', records: [RECORD] };
  const addition = await domains.add(owner, domain, MANY);
  if (addition.kind !== 'added') throw new Error(`${name}: ${addition.kind}`);
  return addition.domain;
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
      firstVerifiedAt: null,
    });
    expect(await domains.find(accountId, domain.id)).toEqual(domain);
    expect(await domains.list(accountId, { limit: 1, cursor: null })).toEqual({
      entries: [domain],
      hasMore: false,
    });
    expect([await domains.isTaken('b.example'), await domains.isTaken('c.example')]).toEqual([true, false]);
  });

  test('stores a later state from the provider', async () => {
    const { id } = await added('b.example');
    expect(await domains.update(accountId, id, { status: 'verified', records: KEYS })).toBe(true);
    expect(await domains.find(accountId, id)).toMatchObject({ status: 'verified', records: KEYS });
  });

  test('is missing after its deletion, and its name is free', async () => {
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

describe('the time of the first verification is kept', () => {
  const firstOf = async ({ id }: Domain) => (await domains.find(accountId, id))?.firstVerifiedAt;
  /** Verifies a domain as a process of the previous release does. */
  const verifiedBefore = (name: string) =>
    store.outside.query(`update domains set status = 'verified' where name = $1`, [name]);

  test('when the domain fails, also if a process of the previous release verified it', async () => {
    const domain = await added('b.example');
    await verifiedBefore('b.example');
    await domains.update(accountId, domain.id, { status: 'failed', records: [] });
    expect(await firstOf(domain)).toEqual(store.clock.now());
  });

  test('when the parent domain is deleted, also if a process of the previous release verified it', async () => {
    const [above, below] = [await added('b.example'), await added('mail.b.example')];
    await domains.update(accountId, above.id, { status: 'verified', records: KEYS });
    await verifiedBefore('mail.b.example');
    await domains.delete(accountId, above.id);
    expect(await domains.find(accountId, below.id)).toMatchObject({
      status: 'pending',
      firstVerifiedAt: store.clock.now(),
    });
  });

  test('but not for a domain that SES verifies through another account’s parent domain', async () => {
    const domain = await added('b.example');
    for (const status of ['verified', 'failed'] as const) {
      await domains.update(accountId, domain.id, { status, records: [] });
    }
    expect(await firstOf(domain)).toBeNull();
  });

  test('for domains of the previous release that are not pending; claims start for the others', async () => {
    const statuses = ['verified', 'temporary_failure', 'failed', 'pending'] as const;
    for (const status of statuses) {
      await added(`${status}.example`);
      await store.outside.query(
        'update domains set status = $1::domain_status, claimed_at = null where name = $2',
        [status, `${status}.example`],
      );
    }
    const states = () =>
      store.outside.query<{ name: string; claimed: boolean; marked: boolean }>(
        `select status, claimed_at is not null as claimed, first_verified_at is not null as marked
         from domains order by claimed, marked`,
      );
    await domains.beginClaims(3);
    expect((await states()).filter(({ claimed }) => claimed)).toHaveLength(3);
    await domains.beginClaims(3);
    expect((await states()).filter(({ marked }) => !marked)).toEqual([
      { status: 'pending', claimed: true, marked: false },
    ]);
    expect(await domains.expiredClaim(0)).toMatchObject({ name: 'pending.example' });
  });
});

test('a name has one owner, also after concurrent additions', async () => {
  const owners = await Promise.all(Array.from({ length: 6 }, async () => store.newAccount()));
  const request = { name: 'b.example', region: 'eu-central-1', status: 'pending', records: [] } as const;
  const answers = await Promise.all(owners.map(async (owner) => domains.add(owner, request, MANY)));
  expect(answers.filter(({ kind }) => kind === 'added')).toHaveLength(1);
});

describe('a domain without keys of its own', () => {
  const statusOf = async (id: Domain['id']) => (await domains.find(accountId, id))?.status;
  const verify = async ({ id }: Domain, records: readonly object[] = []) =>
    domains.update(accountId, id, { status: 'verified', records });

  test('is verified under a verified domain of the account, at any depth', async () => {
    await verify(await added('b.example'), KEYS);
    await added('pending.example');
    await verify(await added('x.y.c.example'), KEYS);
    const stranger = await store.newAccount();
    const foreign = await added('d.example', stranger);
    await domains.update(stranger, foreign.id, { status: 'verified', records: KEYS });
    const below = [
      'mail.b.example',
      'a.mail.b.example',
      'ab.example',
      'a.pending.example',
      'y.c.example',
      'a.d.example',
    ];
    const found: (string | undefined)[] = [];
    for (const name of below) {
      const domain = await added(name);
      await verify(domain);
      found.push(await statusOf(domain.id));
    }
    expect(found).toEqual([
      'verified',
      'verified',
      ...['ab', 'pending', 'above', 'foreign'].map(() => 'pending'),
    ]);
    const atOnce = {
      name: 'at-once.b.example',
      region: 'eu-central-1',
      status: 'verified',
      records: [],
    } as const;
    expect(await domains.add(accountId, atOnce, MANY)).toMatchObject({ domain: { status: 'verified' } });
    expect(await domains.add(stranger, { ...atOnce, name: 'too.b.example' }, MANY)).toMatchObject({
      domain: { status: 'pending' },
    });
  });

  test.each<[string, (above: Domain) => Promise<unknown>]>([
    ['is deleted', async ({ id }) => domains.delete(accountId, id)],
    ['has failed', async ({ id }) => domains.update(accountId, id, { status: 'failed', records: KEYS })],
    ['has lost its keys', async (above) => verify(above, [{ record: 'DKIM', status: 'failed' }])],
  ])('is pending once the one above it %s, but for those with another above', async (_, end) => {
    const above = await added('b.example');
    await verify(above, KEYS);
    const [middle, mail, own, other] = [
      await added('m.b.example'),
      await added('a.m.b.example'),
      await added('own.b.example'),
      await added('a.own.b.example'),
    ];
    for (const domain of [middle, mail, other]) await verify(domain);
    await verify(own, [{ record: 'DKIM', status: 'temporary_failure' }]);
    await end(above);
    const statuses = await Promise.all([middle, mail, own, other].map(async ({ id }) => statusOf(id)));
    expect(statuses).toEqual(['pending', 'pending', 'verified', 'verified']);
  });

  test('is not verified by a parent domain that is deleted at the same time', async () => {
    for (let round = 0; round < 10; round += 1) {
      const [above, below] = [await added(`${round}.example`), await added(`a.${round}.example`)];
      await verify(above, KEYS);
      await Promise.all([verify(below), domains.delete(accountId, above.id)]);
      expect(await statusOf(below.id)).toBe('pending');
    }
  });
});
