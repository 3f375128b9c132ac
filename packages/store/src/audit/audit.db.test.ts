import { beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountId, EventId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { inTransaction } from '../db/pool.ts';
import { createDeadLetterStore } from '../deliveries/dead-letters.ts';
import { createWebhookEventStore } from '../events/webhook-events.ts';
import { listAudit, recordAudit } from './audit.ts';
import type { Actor, AuditAction, AuditFilter, AuditPageRequest } from './audit.ts';

const ADA: Actor = { kind: 'console', name: 'ada', note: 'ticket 7' };
const BEN: Actor = { kind: 'cli', name: 'ben' };
const ACME = 'acct_acme' as AccountId;
const OTHER = 'acct_other' as AccountId;

const store = setupStore();
const rows = () => createRows(store.outside);
beforeEach(() => rows().clear());

async function record(by: Actor, accountId: AccountId, action: AuditAction, target: string): Promise<void> {
  await recordAudit(store.db.pool, by, { action, accountId, target, count: 1 });
}

async function entries(filter: AuditFilter = {}, request: AuditPageRequest = { limit: 100 }) {
  const page = await listAudit(store.db, filter, request);
  if (page === null) throw new Error('no such entry');
  return page.entries;
}

const targets = async (...args: Parameters<typeof entries>) =>
  (await entries(...args)).map(({ target }) => target);

describe('recordAudit', () => {
  test('writes an entry in the transaction of the action, so it goes when the action goes', async () => {
    const failed = inTransaction(store.db.pool, async (client) => {
      await recordAudit(client, BEN, { action: 'key.revoke', accountId: ACME, target: 'key_1', count: 1 });
      throw new Error('the action failed');
    });
    await expect(failed).rejects.toThrow('the action failed');
    const failedToo = store.db.transactions.run(async (tx) => {
      await recordAudit(tx, BEN, { action: 'key.revoke', accountId: ACME, target: 'key_2', count: 1 });
      throw new Error('this one, too');
    });
    await expect(failedToo).rejects.toThrow('this one, too');
    expect(await entries()).toEqual([]);
  });

  test('keeps who, what, how many, and the values before and after', async () => {
    await store.db.transactions.run((tx) =>
      recordAudit(tx, ADA, {
        action: 'account.limit',
        accountId: ACME,
        target: ACME,
        count: 1,
        before: { domains: null },
        after: { domains: 500 },
      }),
    );
    expect(await entries()).toEqual([
      {
        id: expect.any(Number),
        createdAt: expect.any(Date),
        actorKind: 'console',
        actor: 'ada',
        action: 'account.limit',
        accountId: ACME,
        target: ACME,
        webhookId: null,
        count: 1,
        before: { domains: null },
        after: { domains: 500 },
        note: 'ticket 7',
      },
    ]);
  });
});

test('an address in a note is not stored', async () => {
  const note = 'bob@b.example asked, see <Ann@a.example>; ticket 7';
  await record({ ...BEN, note }, ACME, 'account.erase', ACME);
  expect((await entries()).map((entry) => entry.note)).toEqual(['[address] asked, see [address] ticket 7']);
});

test('an address in a value is not stored, at any depth', async () => {
  await recordAudit(store.db.pool, BEN, {
    action: 'account.update',
    accountId: ACME,
    target: ACME,
    count: 1,
    before: { name: 'Bob (bob@b.example), "Shop"', limits: { domains: 5 }, since: new Date(0) },
    after: { name: 'Shop', of: [{ owner: 'ann@a.example' }] },
  });
  expect(await entries()).toMatchObject([
    {
      before: { name: 'Bob [address] "Shop"', limits: { domains: 5 }, since: '1970-01-01T00:00:00.000Z' },
      after: { name: 'Shop', of: [{ owner: '[address]' }] },
    },
  ]);
});

describe('listAudit', () => {
  beforeEach(async () => {
    await record(ADA, ACME, 'key.create', '1');
    await record(BEN, ACME, 'key.revoke', '2');
    await record(ADA, OTHER, 'key.revoke', '3');
    await store.outside.query(
      `update audit set created_at = '2026-01-01Z'::timestamptz + target::int * interval '1 day'`,
    );
  });

  test.each<[AuditFilter, string[]]>([
    [{}, ['3', '2', '1']],
    [{ accountId: ACME }, ['2', '1']],
    [{ actor: 'ada' }, ['3', '1']],
    [{ action: 'key.revoke' }, ['3', '2']],
    [{ target: '2' }, ['2']],
    [{ since: new Date('2026-01-03Z') }, ['3', '2']],
    [{ since: new Date('2026-01-03T00:00:00.001Z'), accountId: ACME }, []],
    [{ accountId: ACME, actor: 'ada', action: 'key.create', target: '1' }, ['1']],
    [{ accountId: ACME, actor: 'ada', action: 'key.revoke' }, []],
  ])('%j finds %j, the newest first', async (filter, found) => {
    expect(await targets(filter)).toEqual(found);
  });

  test('continues after an entry, also among entries of one moment', async () => {
    for (let n = 4; n <= 12; n += 1) await record(ADA, ACME, 'key.revoke', String(n));
    await store.outside.query(`update audit set created_at = '2026-01-01Z'`);
    const byAda = ['12', '11', '10', '9', '8', '7', '6', '5', '4', '3', '1'];
    expect(await targets({ actor: 'ada' })).toEqual(byAda);
    for (const filter of [{}, { since: new Date(0), actor: 'ada' }]) {
      const all = await entries(filter);
      const seen: string[] = [];
      for (let after: number | undefined, hasMore = true; hasMore;) {
        const page = await listAudit(store.db, filter, { after, limit: 1 });
        seen.push(...(page?.entries ?? []).map(({ target }) => target));
        [after, hasMore] = [page?.entries[0]?.id, page?.hasMore ?? false];
      }
      expect(seen).toEqual(all.map(({ target }) => target));
    }
    expect(await listAudit(store.db, {}, { after: 999_999, limit: 1 })).toBeNull();
  });

  // Postgres last counted when one account held nearly all rows. Since then others got many more.
  test.each<[string, AuditFilter]>([
    ['of an account', { accountId: ACME }],
    ['of a person', { actor: 'ada' }],
    ['of an action', { action: 'key.create' }],
    ['of a target', { target: 'key_acme' }],
    ['of everything', {}],
    ['of an account and an action', { accountId: ACME, action: 'key.revoke' }],
    ['of an account, an action and a person', { accountId: ACME, action: 'key.revoke', actor: 'ada' }],
    ['of an account and a person', { accountId: ACME, actor: 'cleo' }],
    [
      'of a target and all others',
      { accountId: ACME, actor: 'ada', action: 'key.create', target: 'key_few' },
    ],
  ])('a page %s reads no rows but its own', async (_, filter) => {
    await store.outside.query('alter table audit set (autovacuum_enabled = false)');
    await fill(ACME, 'ada', 'key.create', 'key_acme');
    await store.outside.query('analyze audit');
    for (let n = 0; n < 2; n += 1) await fill(OTHER, 'ben', 'key.revoke', 'key_other');
    await fill(ACME, 'ada', 'key.revoke', 'key_acme', 20);
    await fill(ACME, 'cleo', 'key.create', 'key_acme', 20);
    await fill(ACME, 'ada', 'key.create', 'key_few', 20);
    await fill(ACME, 'ada', 'key.create', 'key_acme');
    await store.outside.query('select pg_stat_force_next_flush()');
    const before = await rowsRead();
    expect(await entries(filter, { limit: 20 })).toHaveLength(20);
    expect((await rowsRead()) - before).toBeLessThan(200);
  });
});

async function fill(
  account: AccountId,
  actor: string,
  action: AuditAction,
  target: string,
  entries = 10_000,
): Promise<void> {
  await store.outside.query(
    `insert into audit (actor_kind, actor, action, account_id, target, count)
     select 'cli', $1, $2, $3, $4, 1 from generate_series(1, $5::int)`,
    [actor, action, account, target, entries],
  );
}

async function rowsRead(): Promise<number> {
  await store.db.pool.query('select pg_stat_force_next_flush()');
  const [counted] = await store.outside.query<{ n: number }>(
    `select (select seq_tup_read + coalesce(idx_tup_fetch, 0) from pg_stat_user_tables where relname = 'audit')::int
            + (select sum(idx_tup_read)::int from pg_stat_user_indexes where relname = 'audit') as n`,
  );
  return counted?.n ?? NaN;
}

describe('a replay', () => {
  test('of a dead letter keeps what the letter said', async () => {
    const webhookId = await rows().webhook();
    const accountId = await ownerOf(webhookId);
    const eventId = await rows().event({ accountId });
    const letter = await rows().deadLetter(webhookId, eventId);
    expect(await createDeadLetterStore(store.db).replay(accountId, letter, ADA)).toBe(true);
    expect(await createDeadLetterStore(store.db).replay(accountId, letter, ADA)).toBe(false);
    expect(await entries()).toEqual([
      expect.objectContaining({
        action: 'event.replay',
        actor: 'ada',
        accountId,
        target: eventId,
        webhookId,
        count: 1,
        before: {
          dead_letter: {
            id: letter,
            reason: 'attempts_exhausted',
            last_error: 'HTTP 503',
            created_at: expect.stringMatching(/^\d{4}-.*Z$/),
          },
        },
        note: 'ticket 7',
      }),
    ]);
  });

  test('of an event says what had become of it, and a replay that changes nothing is no entry', async () => {
    const webhookId = await rows().webhook();
    await store.outside.query(`update webhooks set created_at = '2001-01-01'`);
    const accountId = await ownerOf(webhookId);
    const [delivered, dead] = [await rows().event({ accountId }), await rows().event({ accountId })];
    const letter = await rows().deadLetter(webhookId, dead);
    const events = createWebhookEventStore(store.db);
    const replay = async (eventId: EventId) => events.replay(accountId, webhookId, eventId, BEN);
    expect(await replay(delivered)).toBe('queued');
    expect(await replay(delivered)).toBe('pending');
    expect(await replay(dead)).toBe('queued');
    expect(await events.replay(await rows().account(), webhookId, delivered, BEN)).toBe('missing');
    expect((await entries()).map(({ target, before }) => [target, before])).toEqual([
      [dead, { dead_letter: expect.objectContaining({ id: letter }) }],
      [delivered, { delivery: 'dropped' }],
    ]);
  });

  test('of many dead letters is one entry for the webhook, with their number and the times they cover', async () => {
    const webhookId = await rows().webhook();
    const accountId = await ownerOf(webhookId);
    for (const day of [1, 2, 3]) {
      const letter = await rows().deadLetter(webhookId, await rows().event({ accountId }));
      await store.outside.query('update dead_letters set created_at = $2 where id = $1', [
        letter,
        `2026-01-0${day}Z`,
      ]);
    }
    const letters = createDeadLetterStore(store.db);
    const request = { webhookId, reason: 'attempts_exhausted', until: new Date('2026-01-03Z') } as const;
    const replay = () => letters.replayMatching(accountId, request, BEN);
    expect(await replay()).toEqual({ kind: 'replayed', replayed: 2, remaining: 0 });
    expect(await replay()).toEqual({ kind: 'replayed', replayed: 0, remaining: 0 });
    expect(await entries()).toEqual([
      expect.objectContaining({
        action: 'dead-letters.replay',
        actor: 'ben',
        accountId,
        target: webhookId,
        webhookId,
        count: 2,
        before: {
          dead_letters: {
            reason: 'attempts_exhausted',
            oldest: '2026-01-01T00:00:00.000Z',
            newest: '2026-01-02T00:00:00.000Z',
          },
        },
      }),
    ]);
  });
});

async function ownerOf(webhookId: string): Promise<AccountId> {
  const [owner] = await store.outside.query<{ id: AccountId }>(
    'select account_id as id from webhooks where id = $1',
    [webhookId],
  );
  if (owner === undefined) throw new Error(`no webhook ${webhookId}`);
  return owner.id;
}
