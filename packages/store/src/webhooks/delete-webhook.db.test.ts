import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createSecretBox, recordEvent } from '@postrider/domain';
import type { AccountId, EventDraft, WebhookId } from '@postrider/domain';
import { ACTOR, createRows, fakeClock, untilWaitingForLock } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { CLAIM_LIMITS, leasedBy, requestFor } from '../../test/claim-fixture.ts';
import { setupStore } from '../../test/open-store.ts';
import { createImpatientPool } from '../../test/impatient-pool.ts';
import { finished } from '../../test/outcomes.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { createDeadLetterStore } from '../deliveries/dead-letters.ts';
import { createDeliveryOutbox } from '../deliveries/delivery-outbox.ts';
import type { LeasedDelivery } from '../deliveries/delivery-outbox.ts';
import { createDeliveryWork } from '../deliveries/delivery-work.ts';
import type { DeliveryClaim } from '../deliveries/delivery-work.ts';
import { finishRemovals } from './remove-webhook.ts';
import { createWebhookStore } from './webhooks.ts';
import type { WebhookStore } from './webhooks.ts';

const clock = fakeClock('2026-03-01T12:00:00.000Z');
const SECRETS = createSecretBox([Buffer.alloc(32, 1)]);

const store = setupStore();
let rows: Rows;
let webhooks: WebhookStore;

beforeAll(async () => {
  rows = createRows(store.outside);
  webhooks = createWebhookStore(store.db, SECRETS, clock);
});
beforeEach(() => rows.clear());

/** Causes one after another, each holding the account's webhooks for a while, until told to end. */
async function record(accountId: AccountId, ended: () => boolean): Promise<number> {
  const draft: EventDraft = {
    type: 'email.sent',
    accountId,
    data: { email_id: 'em_1', from: 'a@a.example', subject: 'Hi', error: null },
  };
  let causes = 0;
  while (!ended()) {
    await store.db.transactions.run(async (tx) => {
      await recordEvent(tx, draft, clock);
      await tx.client.$executeRaw`select pg_sleep(0.2)`;
    });
    causes += 1;
  }
  return causes;
}

test('a DELETE gets through while causes of the account never let go of the webhook', async () => {
  const accountId = await rows.account();
  const webhookId = await rows.webhook({ accountId });
  let ended = false;
  const recording = [1, 2, 3, 4, 5, 6, 7, 8].map(async () => record(accountId, () => ended));
  try {
    expect(await webhooks.delete(accountId, webhookId, ACTOR)).toBe(true);
  } finally {
    ended = true;
  }
  expect((await Promise.all(recording)).every((causes) => causes > 0)).toBe(true);
  expect(await store.outside.query('select from deliveries')).toEqual([]);
});

test('a DELETE that has to wait for one of its deliveries keeps nobody from the others in a batch', async () => {
  const [accountId, other] = [await rows.account(), await rows.webhook()];
  const webhookId = await rows.webhook({ accountId });
  const [first = '', held = ''] = await rows.deliveries(webhookId, { count: 2 });
  const [ours = ''] = await rows.deliveries(other);
  await inUndoneTransaction(store.db.pool, async (holder) => {
    await holder.query('select from deliveries where id = $1 for update', [held]);
    const deletion = webhooks.delete(accountId, webhookId, ACTOR);
    await untilWaitingForLock(store.outside);
    const work = createDeliveryWork(store.db.pool, store.db.pool);
    const taken = await work.take(claimsOf(first, ours), 30);
    expect(taken).toMatchObject([{ deliveryId: ours }]);
    expect(await work.done(taken.map((one) => finished(one)))).toEqual([ours]);
    await holder.query('rollback');
    expect(await deletion).toBe(true);
  });
  expect(await store.outside.query('select from deliveries')).toEqual([]);
});

test('a DELETE in which a cause that has matched never ends is answered, and the rest is left to a relay', async () => {
  const accountId = await rows.account();
  const webhookId = await rows.webhook({ accountId });
  await rows.deliveries(webhookId, { count: 2 });
  const impatient = createImpatientPool(
    {
      databaseUrl: store.outside.url,
      size: 2,
      applicationName: 'impatient',
      durableCommits: true,
      onError: () => undefined,
    },
    200,
  );
  await inUndoneTransaction(store.db.pool, async (cause) => {
    await cause.query('select from webhooks where id = $1 for key share', [webhookId]);
    const deleting = createWebhookStore({ ...store.db, pool: impatient }, SECRETS, clock);
    expect(await deleting.delete(accountId, webhookId, ACTOR)).toBe(true);
  });
  await impatient.end();
  expect(await store.outside.query('select from deliveries')).toEqual([]);
  await longAgo();
  expect(await finishRemovals(store.db.pool)).toMatchObject({
    removed: 1,
    unfinished: 0,
  });
  expect(await store.outside.query('select from webhooks')).toEqual([]);
});

describe('a webhook with a backlog beyond one request', () => {
  const BACKLOG = 25_000;
  let accountId: AccountId;
  let webhookId: WebhookId;

  beforeEach(async () => {
    accountId = await rows.account();
    webhookId = await rows.webhook({ accountId });
    await rows.deliveries(webhookId, { count: BACKLOG });
  });

  test('is gone with the answer: it is deleted once, receives nothing and none of its letters is there', async () => {
    const letter = await rows.deadLetter(webhookId, await rows.event({ accountId }));
    const standing = await rows.webhook({ accountId });
    const kept = await rows.deadLetter(standing, await rows.event({ accountId }));
    expect(await webhooks.delete(accountId, webhookId, ACTOR)).toBe(true);
    expect(await webhooks.delete(accountId, webhookId, ACTOR)).toBe(false);
    const [left] = await store.outside.query<{ id: string }>('select max(id)::text as id from deliveries');
    expect(Number(left?.id)).toBeGreaterThan(0);
    expect(await claimFor(webhookId)).toEqual([]);
    const work = createDeliveryWork(store.db.pool, store.db.pool);
    expect(await work.take(claimsOf(left?.id ?? ''), 30)).toEqual([]);
    const letters = createDeadLetterStore(store.db);
    expect((await letters.list(accountId, {}))?.entries.map(({ id }) => id)).toEqual([kept]);
    expect(await letters.replay(accountId, letter, ACTOR)).toBe(false);
  });

  test('goes bit by bit with the relay’s passes, and leaves nothing behind', async () => {
    const standing = await rows.webhook({ accountId });
    await rows.deliveries(standing, { count: 2 });
    for (let n = 0; n < 3; n += 1) await rows.deadLetter(webhookId, await rows.event({ accountId }));
    await webhooks.delete(accountId, webhookId, ACTOR);
    await rows.deliveries(webhookId, { count: BACKLOG });
    await longAgo();
    expect(await finishRemovals(store.db.pool)).toEqual({ removed: 0, unfinished: 1, failed: [] });
    expect(await finishRemovals(store.db.pool)).toEqual({ removed: 1, unfinished: 0, failed: [] });
    expect(await finishRemovals(store.db.pool)).toEqual({ removed: 0, unfinished: 0, failed: [] });
    const left = await store.outside.query('select distinct webhook_id from deliveries');
    expect(left).toEqual([{ webhook_id: standing }]);
    expect(await store.outside.query('select from dead_letters')).toEqual([]);
    expect(await store.outside.query('select id from webhooks')).toEqual([{ id: standing }]);
  });
});

test('a removal that fails is told of, and keeps no other from being finished', async () => {
  const [broken, well] = [await rows.webhook(), await rows.webhook()];
  for (const id of [broken, well]) await rows.deliveries(id);
  await store.outside.query(`create function refuse() returns trigger language plpgsql as $$
    begin raise exception 'not this one'; end $$`);
  await store.outside.query(`create trigger refuse before delete on deliveries for each row
    when (old.webhook_id = '${broken}') execute function refuse()`);
  try {
    await store.outside.query('update webhooks set removed_at = now()');
    await longAgo();
    const { removed, failed } = await finishRemovals(store.db.pool);
    expect([removed, failed.map(({ webhookId }) => webhookId)]).toEqual([1, [broken]]);
    expect(String(failed[0]?.error)).toContain('not this one');
    expect(await store.outside.query('select id from webhooks')).toEqual([{ id: broken }]);
  } finally {
    await store.outside.query('drop function refuse cascade');
  }
});

function claimsOf(...ids: string[]): DeliveryClaim[] {
  return ids.map((deliveryId) => ({ deliveryId, claim: 0 }));
}

async function claimFor(webhookId: WebhookId): Promise<LeasedDelivery[]> {
  return leasedBy(await createDeliveryOutbox(store.db.pool).claim([requestFor(webhookId)], CLAIM_LIMITS));
}

/** As if what is marked had been marked so long ago that a relay takes it on. */
async function longAgo(): Promise<void> {
  await store.outside.query(
    `update webhooks set removed_at = now() - interval '1 hour' where removed_at is not null`,
  );
}

describe('a webhook whose DELETE was cut short', () => {
  let accountId: AccountId;
  let webhookId: WebhookId;

  beforeEach(async () => {
    accountId = await rows.account();
    webhookId = await rows.webhook({ accountId });
    await store.outside.query('update webhooks set removed_at = now()');
  });

  test('is listed no more, and gets no delivery of a new event', async () => {
    expect(await webhooks.list(accountId)).toEqual([]);
    let recorded = 0;
    await record(accountId, () => (recorded += 1) > 1);
    expect(await store.outside.query('select from deliveries')).toEqual([]);
  });

  test('has nothing claimed for it, or taken', async () => {
    const [deliveryId = ''] = await rows.deliveries(webhookId);
    expect(await claimFor(webhookId)).toEqual([]);
    const work = createDeliveryWork(store.db.pool, store.db.pool);
    expect(await work.take(claimsOf(deliveryId), 30)).toEqual([]);
  });

  test('reads as missing to the next DELETE', async () => {
    expect(await webhooks.delete(accountId, webhookId, ACTOR)).toBe(false);
  });
});
