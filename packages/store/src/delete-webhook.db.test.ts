import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createSecretBox, recordEvent } from '@postrider/domain';
import type { AccountId, EventDraft, WebhookId } from '@postrider/domain';
import { createRows, fakeClock } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { openTestStore } from '../test/open-store.ts';
import type { TestStore } from '../test/open-store.ts';
import { createWebhookStore } from './webhooks.ts';
import type { WebhookStore } from './webhooks.ts';

const clock = fakeClock('2026-03-01T12:00:00.000Z');

let store: TestStore;
let rows: Rows;
let webhooks: WebhookStore;

beforeAll(async () => {
  store = await openTestStore();
  rows = createRows(store.outside);
  webhooks = createWebhookStore(store.db, createSecretBox([Buffer.alloc(32, 1)]), clock);
});
afterAll(() => store.close());
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
    expect(await webhooks.delete(accountId, webhookId)).toBe(true);
  } finally {
    ended = true;
  }
  expect((await Promise.all(recording)).every((causes) => causes > 0)).toBe(true);
  expect(await store.outside.query('select from deliveries')).toEqual([]);
}, 60_000);

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

  test('goes with the next DELETE of it, and no other account’s', async () => {
    expect(await webhooks.delete(await rows.account(), webhookId)).toBe(false);
    expect(await webhooks.delete(accountId, webhookId)).toBe(true);
    expect(await webhooks.delete(accountId, webhookId)).toBe(false);
  });
});
