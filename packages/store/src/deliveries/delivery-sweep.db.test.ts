import { describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { setupLeases } from '../../test/claim-fixture.ts';
import type { SweptWebhook } from './delivery-outbox.ts';

const LOOK_AHEAD_SECONDS = 60;

const { database, rows, leases } = setupLeases();

/** @returns the webhooks that each step found */
async function sweepAll(perStep: number): Promise<WebhookId[][]> {
  const steps: WebhookId[][] = [];
  for (let next: string | null = ''; next !== null;) {
    const { webhooks, cursor } = await leases.outbox.sweep(next, perStep, LOOK_AHEAD_SECONDS);
    steps.push(webhooks.map(({ webhookId }) => webhookId));
    next = cursor;
  }
  return steps;
}

const isDue = (found: SweptWebhook | undefined) => found !== undefined && found.dueInMs <= 0;

describe('the sweep', () => {
  test('finds every webhook with work, in order, in steps, whatever the backlog behind each', async () => {
    const webhooks: WebhookId[] = [];
    for (let n = 0; n < 25; n += 1) webhooks.push(await rows.webhook());
    await rows.webhook(); // has nothing to do
    for (const [n, id] of webhooks.entries())
      await rows.deliveries(id, { count: n === 7 ? 5000 : 1 + (n % 3) });
    expect(await sweepAll(10)).toEqual([10, 10, 5].map((count) => webhooks.sort().splice(0, count)));
  });

  test('ends with a step that finds nothing where there is nothing after a whole one', async () => {
    const webhookId = await rows.webhook();
    await rows.deliveries(webhookId);
    expect(await sweepAll(1)).toEqual([[webhookId], []]);
  });

  test('tells of those only whose first row is due within the look-ahead, and goes on over the others', async () => {
    const webhooks: WebhookId[] = [];
    for (let n = 0; n < 3; n += 1) webhooks.push(await rows.webhook());
    for (const id of webhooks) await rows.deliveries(id, { dueInMs: 70_000, count: 3 });
    const [due, soon] = [await rows.webhook(), await rows.webhook()];
    await rows.deliveries(due);
    for (const id of [due, soon]) await rows.deliveries(id, { dueInMs: 1_900_000 });
    await rows.deliveries(soon, { dueInMs: 50_000 });
    for (const perStep of [1, 2, 10]) {
      const steps = await sweepAll(perStep);
      expect(steps.flat()).toEqual([due, soon].sort());
      expect(steps).toHaveLength(Math.floor(5 / perStep) + 1);
    }
  });

  test('marks each no later than its first delivery, be it leased', async () => {
    const webhookId = await rows.webhook();
    const [first = ''] = await rows.deliveries(webhookId, { dueInMs: -60_000 });
    await rows.deliveries(webhookId);
    await database.query(`update deliveries set leased_until = now() + interval '30 s'`);
    const { webhooks } = await leases.outbox.sweep('', 10, LOOK_AHEAD_SECONDS);
    expect(webhooks.map(({ lowWaterMark }) => lowWaterMark.deliveryId)).toEqual([first]);
  });

  test('says whether the first delivery of a webhook is due', async () => {
    const [due, soon] = [await rows.webhook(), await rows.webhook()];
    await rows.deliveries(due);
    await rows.deliveries(soon, { dueInMs: 50_000 });
    const { webhooks } = await leases.outbox.sweep('', 10, LOOK_AHEAD_SECONDS);
    expect(new Map(webhooks.map((each) => [each.webhookId, isDue(each)]))).toEqual(
      new Map([
        [due, true],
        [soon, false],
      ]),
    );
  });

  test('of one webhook finds the same, whatever the others have', async () => {
    const webhooks: WebhookId[] = [];
    for (let n = 0; n < 4; n += 1) webhooks.push(await rows.webhook());
    // The earliest delivery is that of the last webhook.
    const [soon, later, idle, due] = webhooks.sort() as [WebhookId, WebhookId, WebhookId, WebhookId];
    const [first = ''] = await rows.deliveries(due, { count: 3, dueInMs: -60_000 });
    await rows.deliveries(soon, { dueInMs: 50_000 });
    await rows.deliveries(later, { dueInMs: 70_000 });
    const [found] = await leases.outbox.sweepOne(due, LOOK_AHEAD_SECONDS);
    expect([found?.webhookId, isDue(found), found?.lowWaterMark.deliveryId]).toEqual([due, true, first]);
    expect(await leases.outbox.sweepOne(soon, LOOK_AHEAD_SECONDS)).toMatchObject([
      { webhookId: soon, dueInMs: expect.closeTo(50_000, -5) },
    ]);
    for (const id of [later, idle]) expect(await leases.outbox.sweepOne(id, LOOK_AHEAD_SECONDS)).toEqual([]);
  });

  test('of an empty table finds nothing', async () => {
    expect(await leases.outbox.sweep('', 10, LOOK_AHEAD_SECONDS)).toEqual({ webhooks: [], cursor: null });
    expect(await leases.outbox.nextWebhook('')).toBeNull();
  });

  test('can name every webhook, with or without work, in the same order', async () => {
    const webhooks = [await rows.webhook(), await rows.webhook(), await rows.webhook()].sort();
    const [first] = webhooks;
    if (first !== undefined) await rows.deliveries(first);
    const named: WebhookId[] = [];
    for (let id = await leases.outbox.nextWebhook(''); id !== null; id = await leases.outbox.nextWebhook(id))
      named.push(id);
    expect(named).toEqual(webhooks);
  });
});
