import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import type { WebhookId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { createDeliveryWork } from './delivery-work.ts';
import type { DeliveryWork } from './delivery-work.ts';

const store = setupStore();
let rows: Rows;
let work: DeliveryWork;
let webhookId: WebhookId;

beforeAll(async () => {
  rows = createRows(store.outside);
  work = createDeliveryWork(store.db.pool, store.db.pool);
});
beforeEach(async () => void (webhookId = await rows.webhook()));

/** @returns the ids of the webhooks whose state changed. */
async function mark(changes: Parameters<DeliveryWork['markHealth']>[0]): Promise<WebhookId[]> {
  return (await work.markHealth(changes)).map((changed) => changed.webhookId);
}

test('names account and endpoint of a webhook that changes', async () => {
  const accountId = await rows.account();
  const id = await rows.webhook({ accountId });
  expect(await work.markHealth([{ webhookId: id, failing: true }])).toEqual([
    { webhookId: id, accountId, endpoint: 'https://hooks.example/in' },
  ]);
});

test('of workers that see a change at once, one gets it', async () => {
  const change = [{ webhookId, failing: true }];
  const told = await Promise.all(Array.from({ length: 8 }, () => mark(change)));
  expect(told.flat()).toEqual([webhookId]);
});

test('keeps since when a webhook is well again, until it fails', async () => {
  const since = async (failing: boolean) => {
    await mark([{ webhookId, failing }]);
    const [row] = await store.outside.query<{ well: boolean; failing: boolean }>(
      'select recovered_at is not null as well, failing_since is not null as failing from webhooks where id = $1',
      [webhookId],
    );
    return row;
  };
  expect(await since(true)).toEqual({ well: false, failing: true });
  expect(await since(false)).toEqual({ well: true, failing: false });
  expect(await since(true)).toEqual({ well: false, failing: true });
});

test('writes and names only the webhooks whose state changes', async () => {
  const failing = await rows.webhook({ failing: true });
  const gone = newId('webhook', store.clock);
  const changes = [
    { webhookId, failing: true },
    { webhookId: failing, failing: true },
    { webhookId: gone, failing: true },
  ];
  const [before] = await store.outside.query('select failing_since, xmin from webhooks where id = $1', [
    failing,
  ]);
  expect(await mark(changes)).toEqual([webhookId]);
  expect(await mark(changes)).toEqual([]);
  const [after] = await store.outside.query('select failing_since, xmin from webhooks where id = $1', [
    failing,
  ]);
  expect(after).toEqual(before);
  expect(await mark([{ webhookId, failing: false }])).toEqual([webhookId]);
  const [well] = await store.outside.query('select failing_since from webhooks where id = $1', [webhookId]);
  expect(well).toEqual({ failing_since: null });
});

test('does not wait for a cause that has matched the webhook', async () => {
  await inUndoneTransaction(store.db.pool, async (cause) => {
    await cause.query('select from webhooks where id = $1 for key share', [webhookId]);
    expect(await mark([{ webhookId, failing: true }])).toEqual([webhookId]);
  });
});

test('leaves a webhook alone that is being removed: its removal would be waited for', async () => {
  await store.outside.query('update webhooks set removed_at = now() where id = $1', [webhookId]);
  await inUndoneTransaction(store.db.pool, async (removal) => {
    await removal.query('delete from webhooks where id = $1', [webhookId]);
    expect(await mark([{ webhookId, failing: true }])).toEqual([]);
  });
});

test('of nothing does nothing', async () => {
  expect(await mark([])).toEqual([]);
});
