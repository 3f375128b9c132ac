import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import type { AccountId, SuppressionId } from '@postrider/domain';
import { ACTOR, createRows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { watchedPool } from '../../test/watched-pool.ts';
import { createSuppressionStore } from './suppressions.ts';
import type { SuppressionOrigin, SuppressionStore } from './suppressions.ts';

const BOB = 'bob@b.example';
const EVE = 'eve@e.example';
const FIRST_PAGE = { limit: 100, cursor: null };

const store = setupStore();
let suppressions: SuppressionStore;
let accountId: AccountId;

beforeAll(async () => {
  suppressions = createSuppressionStore(store.db, store.clock);
});
beforeEach(async () => void (accountId = await store.newAccount()));

async function insert(address: string, origin: SuppressionOrigin, topicId = ''): Promise<SuppressionId> {
  const id = newId('suppression', store.clock);
  await store.outside.query(
    `insert into suppressions (id, account_id, address, topic_id, origin, created_at)
     values ($1, $2, $3, $4, $5::suppression_origin, now())`,
    [id, accountId, address, topicId, origin],
  );
  return id;
}

async function addresses(): Promise<string[]> {
  const page = await suppressions.list(accountId, FIRST_PAGE, null);
  return (page?.entries ?? []).map(({ address }) => address).sort();
}

async function unsubscribedAddresses(): Promise<string[]> {
  const rows = await store.outside.query<{ to: string }>(
    `select data::json ->> 'to' as to from events where account_id = $1 and type = 'email.unsubscribed' order by 1`,
    [accountId],
  );
  return rows.map(({ to }) => to);
}

describe('add', () => {
  test('suppresses each address and records its event, in one transaction', async () => {
    const webhookId = await createRows(store.outside).webhook({ accountId });
    const { added, deliveries } = await suppressions.add(accountId, [EVE, BOB]);
    expect(deliveries).toBe(2);
    expect(added).toEqual([
      { id: expect.stringMatching(/^sup_/), address: EVE, isNew: true },
      { id: expect.stringMatching(/^sup_/), address: BOB, isNew: true },
    ]);
    expect(await suppressions.find(accountId, { address: BOB })).toEqual({
      id: added[1]?.id,
      address: BOB,
      topicId: null,
      origin: 'manual',
      emailId: null,
      createdAt: expect.any(Date),
    });
    expect(store.wakeUps.at(-1)).toEqual({ webhooks: [webhookId], mail: false });
    const data = await store.outside.query<{ data: string }>(
      `select data from events where account_id = $1 and data like '%bob%'`,
      [accountId],
    );
    expect(data.map((row) => JSON.parse(row.data) as unknown)).toEqual([
      {
        email_id: null,
        to: BOB,
        topic: null,
        scope: 'all',
        source: 'api',
        occurred_at: store.clock.now().toISOString(),
      },
    ]);
  });

  test('writes many addresses, their events and deliveries in one statement', async () => {
    const rows = createRows(store.outside);
    const webhooks = [await rows.webhook({ accountId }), await rows.webhook({ accountId })];
    await rows.webhook({ accountId, events: ['email.sent'] });
    const all = Array.from({ length: 100 }, (_, n) => `n${n}@b.example`);
    const { pool, sent } = watchedPool(store.db.pool);
    await createSuppressionStore({ ...store.db, pool }, store.clock).add(accountId, all);
    expect(sent).toEqual(['add-suppressions']);
    expect(await unsubscribedAddresses()).toEqual([...all].sort());
    // `cmin` is the number of the statement within its transaction.
    const written = await store.outside.query(
      `select count(distinct (s.xmin::text, s.cmin::text, e.xmin::text, e.cmin::text, d.xmin::text, d.cmin::text))::int
                as statements,
              bool_and(s.xmin = e.xmin and e.xmin = d.xmin and s.cmin::text = e.cmin::text and e.cmin::text = d.cmin::text)
                as same, d.webhook_id, count(*)::int as count
       from suppressions s join events e on e.account_id = s.account_id and e.data::json ->> 'to' = s.address
         join deliveries d on d.event_id = e.id
       where s.account_id = $1 group by d.webhook_id order by d.webhook_id`,
      [accountId],
    );
    const one = { statements: 1, same: true, count: 100 };
    expect(written).toEqual([...webhooks].sort().map((webhook_id) => ({ ...one, webhook_id })));
    expect(store.wakeUps.at(-1)?.webhooks.toSorted()).toEqual([...webhooks].sort());
  });

  test('returns the old id of a suppressed address, keeps its origin, and makes no second event', async () => {
    const old = await insert(BOB, 'complaint');
    const { added } = await suppressions.add(accountId, [BOB, EVE]);
    expect(added[0]).toEqual({ id: old, address: BOB, isNew: false });
    expect(await suppressions.find(accountId, { address: BOB })).toMatchObject({ origin: 'complaint' });
    expect(await unsubscribedAddresses()).toEqual([EVE]);
  });

  test('many at once, in any order: each address is new to exactly one, without deadlock', async () => {
    const all = Array.from({ length: 12 }, (_, n) => `n${n}@b.example`);
    const runs = await Promise.all(
      Array.from({ length: 8 }, async (_, n) =>
        suppressions.add(accountId, n % 2 === 0 ? all : [...all].reverse()),
      ),
    );
    const answered = runs.flatMap(({ added }) => added);
    const fresh = answered.filter(({ isNew }) => isNew);
    expect(fresh.map(({ address }) => address).sort()).toEqual([...all].sort());
    expect(await unsubscribedAddresses()).toEqual([...all].sort());
    for (const address of all) {
      const ids = answered.filter((each) => each.address === address);
      expect(new Set(ids.map(({ id }) => id)).size).toBe(1);
    }
  });

  test('rolls back when its event cannot be written', async () => {
    await store.outside.query('alter table events rename to away');
    try {
      await expect(suppressions.add(accountId, [BOB])).rejects.toThrow();
    } finally {
      await store.outside.query('alter table away rename to events');
    }
    expect(await addresses()).toEqual([]);
  });
});

describe('find and list', () => {
  test('an address finds its suppression for all mail; the others are found by id', async () => {
    const about = await insert(BOB, 'unsubscribe', 'top_1');
    expect(await suppressions.find(accountId, { address: BOB })).toBeNull();
    expect(await suppressions.find(accountId, { id: about })).toMatchObject({ topicId: 'top_1' });
    const all = await insert(BOB, 'manual');
    expect(await suppressions.find(accountId, { address: BOB })).toMatchObject({ id: all, topicId: null });
  });

  test('an origin filters the list, also from a cursor on', async () => {
    const bounce = await insert(BOB, 'bounce');
    const manual = await insert(EVE, 'manual');
    const page = await suppressions.list(accountId, FIRST_PAGE, 'bounce');
    expect(page?.entries.map(({ id }) => id)).toEqual([bounce]);
    const beyond = { limit: 1, cursor: { side: 'after', id: manual } } as const;
    expect(await suppressions.list(accountId, beyond, 'bounce')).toBeNull();
  });

  test('another account’s suppressions read as missing', async () => {
    const id = await insert(BOB, 'manual');
    const stranger = await store.newAccount();
    expect(await suppressions.find(stranger, { id })).toBeNull();
    expect(await suppressions.find(stranger, { address: BOB })).toBeNull();
    expect(await suppressions.remove(stranger, [{ id }, { address: BOB }], 'r', ACTOR)).toEqual({
      kind: 'removed',
      ids: [],
    });
    expect(await addresses()).toEqual([BOB]);
  });
});

describe('remove', () => {
  test('accepts ids, and addresses for the suppression of all mail; those for a topic stay', async () => {
    const [id, all] = [await insert(EVE, 'bounce'), await insert(BOB, 'manual')];
    const about = await insert(BOB, 'unsubscribe', 'top_1');
    const removal = await suppressions.remove(accountId, [{ id }, { address: BOB }], null, ACTOR);
    expect(removal).toEqual({ kind: 'removed', ids: expect.arrayContaining([id, all]) as unknown });
    expect(await suppressions.find(accountId, { id: about })).not.toBeNull();
    expect(await addresses()).toEqual([BOB]);
  });

  test('a complaint is removed only with a reason, which is stored; without one all stay', async () => {
    const [complaint, manual] = [await insert(BOB, 'complaint'), await insert(EVE, 'manual')];
    const keys = [{ address: BOB }, { id: manual }];
    expect(await suppressions.remove(accountId, keys, null, ACTOR)).toEqual({ kind: 'reason-missing' });
    expect(await addresses()).toEqual([BOB, EVE]);
    expect((await suppressions.remove(accountId, keys, 'asked to come back', ACTOR)).kind).toBe('removed');
    expect(await addresses()).toEqual([]);
    const kept = await store.outside.query('select * from removed_complaints where account_id = $1', [
      accountId,
    ]);
    expect(kept).toEqual([
      {
        suppression_id: complaint,
        account_id: accountId,
        address: BOB,
        reason: 'asked to come back',
        removed_at: expect.any(Date),
      },
    ]);
  });

  test('of concurrent removals exactly one removes it', async () => {
    const id = await insert(BOB, 'complaint');
    const removals = await Promise.all(
      Array.from({ length: 8 }, async () => suppressions.remove(accountId, [{ id }], 'r', ACTOR)),
    );
    expect(removals.flatMap((each) => (each.kind === 'removed' ? each.ids : []))).toEqual([id]);
  });
});
