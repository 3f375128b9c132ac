import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { inboundSubject, newId, recordEvent } from '@postrider/domain';
import type { AccountId, EventType } from '@postrider/domain';
import { ACTOR, createRows, newWebhook, untilWaitingForLock } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { createAccountStore } from '../accounts/accounts.ts';
import { openDatabase } from '../db/database.ts';
import type { Database } from '../db/database.ts';
import { createWebhookStore } from './webhooks.ts';
import type { WebhookStore } from './webhooks.ts';

const ENDPOINT = 'https://hooks.example.com/in';

const store = setupStore();
let webhooks: WebhookStore;
let accountId: AccountId;

beforeAll(async () => {
  webhooks = createWebhookStore(store.db, store.secrets, store.clock);
});
beforeEach(async () => void (accountId = await store.newAccount()));

async function created(events: EventType[] = []) {
  return (await newWebhook(webhooks, { accountId, endpoint: ENDPOINT, events })).webhook;
}

async function webhookOfRule() {
  return createRows(store.outside).webhook({ accountId, subject: inboundSubject(accountId, 'r1') });
}

async function rowsOf(table: string, webhookId: string): Promise<number> {
  const rows = await store.outside.query(`select 1 from ${table} where webhook_id = $1`, [webhookId]);
  return rows.length;
}

describe('create', () => {
  test('keeps what was asked for: no types are not all types', async () => {
    const { webhook } = await newWebhook(webhooks, { accountId, endpoint: ENDPOINT, events: [] });
    expect(webhook).toEqual({
      id: expect.stringMatching(/^wh_/),
      endpoint: ENDPOINT,
      events: [],
      description: null,
      domains: null,
      createdAt: expect.any(Date),
    });
  });

  test('stores the signing secret sealed, bound to its webhook', async () => {
    const { webhook, signingSecret } = await newWebhook(webhooks, {
      accountId,
      endpoint: ENDPOINT,
      events: [],
    });
    const [row] = await store.outside.query<{ secret_key_id: string; secret_sealed: Buffer }>(
      'select secret_key_id, secret_sealed from webhooks where id = $1',
      [webhook.id],
    );
    const { secret_key_id: keyId = '', secret_sealed: sealed = Buffer.alloc(0) } = row ?? {};
    expect(sealed.includes(signingSecret)).toBe(false);
    expect(store.secrets.open({ keyId, sealed }, webhook.id)).toBe(signingSecret);
    expect(() => store.secrets.open({ keyId, sealed }, newId('webhook', store.clock))).toThrow();
  });
});

describe('the limit of an account', () => {
  const createWithLimit = (perAccountMax: number) =>
    webhooks.create({ accountId, endpoint: ENDPOINT, events: [], perAccountMax });

  const limitTo = (max: number | null) =>
    createAccountStore(store.db, store.clock).limit(accountId, { webhooks: max }, ACTOR);

  test('is exact, however many are created at once, in two pools', async () => {
    const second = await openSecondPool();
    const stores = [webhooks, createWebhookStore(second, store.secrets, store.clock)];
    const request = { accountId, endpoint: ENDPOINT, events: [], perAccountMax: 10 };
    const creations = await Promise.all(
      Array.from({ length: 24 }, async (_, n) => stores[n % 2]?.create(request)),
    );
    await second.close();
    expect(creations.filter((one) => one?.kind === 'created')).toHaveLength(10);
    expect(creations.filter((one) => one?.kind === 'limit-reached')).toHaveLength(14);
    expect(await webhooks.list(accountId)).toHaveLength(10);
  });

  test('counts those of inbound rules, and not those of other accounts', async () => {
    await created();
    accountId = await store.newAccount();
    await webhookOfRule();
    expect(await createWithLimit(2)).toMatchObject({ kind: 'created' });
    expect(await createWithLimit(2)).toEqual({ kind: 'limit-reached', max: 2 });
  });

  test('a deleted webhook no longer counts, also while its rows are still being deleted', async () => {
    const { id } = await created();
    expect(await createWithLimit(1)).toEqual({ kind: 'limit-reached', max: 1 });
    await store.outside.query('update webhooks set removed_at = now() where id = $1', [id]);
    expect(await createWithLimit(1)).toMatchObject({ kind: 'created' });
  });

  test('its own wins over the installation’s, in both directions, until it has none again', async () => {
    expect(await limitTo(2)).toMatchObject({ webhooks: 2 });
    expect([await createWithLimit(1), await createWithLimit(1)]).toMatchObject([
      { kind: 'created' },
      { kind: 'created' },
    ]);
    expect(await createWithLimit(1)).toEqual({ kind: 'limit-reached', max: 2 });
    expect(await limitTo(0)).toMatchObject({ webhooks: 0 });
    expect(await createWithLimit(100)).toEqual({ kind: 'limit-reached', max: 0 });
    expect(await limitTo(null)).toMatchObject({ webhooks: null });
    expect(await createWithLimit(3)).toMatchObject({ kind: 'created' });
    expect(await createWithLimit(3)).toEqual({ kind: 'limit-reached', max: 3 });
  });

  test('a creation does not wait for an open transaction that refers to the account', async () => {
    await inOpenTransaction(async (query) => {
      await query(`insert into topics (id, account_id, name, default_subscription, created_at)
                   values ('top_${accountId}', '${accountId}', 'x', 'opt_in', now())`);
      expect(await createWithLimit(1)).toMatchObject({ kind: 'created' });
    });
  });
});

describe('list', () => {
  test('has the account’s own, newest first, and not those of inbound rules', async () => {
    const first = await created(['email.sent']);
    store.clock.advance(1);
    const second = await created();
    await webhookOfRule();
    accountId = await store.newAccount();
    await created();
    const [owner] = await store.outside.query<{ account_id: AccountId }>(
      'select account_id from webhooks where id = $1',
      [first.id],
    );
    expect(await webhooks.list(owner?.account_id ?? accountId)).toEqual([second, first]);
  });

  test('those made in one millisecond come in the order of their ids, so that the list is always the same', async () => {
    for (let n = 0; n < 5; n += 1) await created();
    await store.outside.query('update webhooks set created_at = now()');
    const ids = (await webhooks.list(accountId)).map(({ id }) => id);
    expect(ids).toHaveLength(5);
    expect(ids).toEqual([...ids].sort().reverse());
  });

  test('a type that this version does not know is left out', async () => {
    const { id } = await created(['email.sent']);
    await store.outside.query(`update webhooks set events = '{email.sent,moon.landed}' where id = $1`, [id]);
    expect((await webhooks.list(accountId))[0]?.events).toEqual(['email.sent']);
  });
});

describe('delete', () => {
  test('takes queued deliveries and dead letters with it, and nobody else’s', async () => {
    const [mine, other] = [await created(), await created()];
    for (const { id } of [mine, other]) {
      await store.outside.query('insert into deliveries (event_id, webhook_id) values ($1, $2)', [
        'evt_1',
        id,
      ]);
      await store.outside.query(
        `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts,
           reason, last_error) values ($1, $2, $3, 'evt_1', 'email.sent', now(), '{}', 8, 'rejected', 'x')`,
        [newId('deadLetter', store.clock), accountId, id],
      );
    }
    expect(await webhooks.delete(accountId, mine.id, ACTOR)).toBe(true);
    expect(await webhooks.list(accountId)).toEqual([other]);
    expect(await rowsOf('deliveries', mine.id)).toBe(0);
    expect(await rowsOf('dead_letters', mine.id)).toBe(0);
    expect(await rowsOf('deliveries', other.id)).toBe(1);
    expect(await rowsOf('dead_letters', other.id)).toBe(1);
  });

  test('another account’s webhook reads as missing and stays', async () => {
    const webhook = await created();
    expect(await webhooks.delete(await store.newAccount(), webhook.id, ACTOR)).toBe(false);
    expect(await webhooks.list(accountId)).toEqual([webhook]);
    expect(await webhooks.delete(accountId, webhook.id, ACTOR)).toBe(true);
    expect(await webhooks.delete(accountId, webhook.id, ACTOR)).toBe(false);
  });

  test('the webhook of an inbound rule is not its account’s to delete: it reads as missing and stays', async () => {
    const id = await webhookOfRule();
    expect(await webhooks.delete(accountId, id, ACTOR)).toBe(false);
    expect(await store.outside.query('select 1 from webhooks where id = $1', [id])).toHaveLength(1);
  });

  test('waits for a cause that has matched it, and then drops that delivery too', async () => {
    const { id } = await created();
    const { promise: held, resolve: commit } = Promise.withResolvers<void>();
    const { promise: matched, resolve: recorded } = Promise.withResolvers<void>();
    const cause = store.db.transactions.run(async (tx) => {
      const data = { email_id: 'em_1', from: 'a@a.example', subject: '', error: null };
      await recordEvent(tx, { type: 'email.sent', accountId, data }, store.clock);
      recorded();
      await held;
    });
    await matched;
    const deletion = webhooks.delete(accountId, id, ACTOR);
    await untilWaitingForLock(store.outside);
    commit();
    await cause;
    expect(await deletion).toBe(true);
    expect(await rowsOf('deliveries', id)).toBe(0);
  });
});

async function openSecondPool(): Promise<Database> {
  const connection = { databaseUrl: store.outside.url, size: 10, applicationName: 'second' };
  return openDatabase(
    { ...connection, onError: () => undefined },
    { send: () => undefined, close: async () => undefined },
  );
}

/** Runs `work` while a transaction of another session is open. */
async function inOpenTransaction(work: (query: (sql: string) => Promise<unknown>) => Promise<void>) {
  const client = await store.db.pool.connect();
  try {
    await client.query('begin');
    await work((sql) => client.query(sql));
    await client.query('rollback');
  } finally {
    client.release();
  }
}
