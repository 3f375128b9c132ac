import { expect, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { readFates } from './event-fates.ts';

const store = setupStore();

test('the fates of several events are read at once, each of its own', async () => {
  const rows = createRows(store.outside);
  const accountId = await store.newAccount();
  const webhookId = await rows.webhook({ accountId });
  const [first, second] = [await rows.event({ accountId }), await rows.event({ accountId })];
  await rows.deliveries(webhookId, { eventId: first });
  const missing = newId('event', store.clock);
  const fates = await readFates(store.db, [first, second, missing]);
  expect([...fates].map(([id, each]) => [id, each.map(({ fate }) => fate)])).toEqual([
    [first, ['waiting']],
    [second, ['dropped']],
    [missing, []],
  ]);
  expect(fates.get(first)?.[0]?.webhookId).toBe(webhookId);
  expect(await readFates(store.db, [])).toEqual(new Map());
});
