import { beforeEach, describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { CLAIM_LIMITS, leasedBy, requestFor, setupLeases } from '../../test/claim-fixture.ts';
import type { ClaimLimits, ClaimRequest, LeasedDelivery } from './delivery-outbox.ts';

const { rows, leases } = setupLeases();
beforeEach(() => inFlightOf.clear());

/** What the caller knows of the accounts of these webhooks. */
const inFlightOf = new Map<WebhookId, number>();

async function claim(
  webhooks: WebhookId | readonly WebhookId[],
  limit = 8,
  limits: Partial<ClaimLimits> = {},
): Promise<LeasedDelivery[]> {
  const asked = typeof webhooks === 'string' ? [webhooks] : webhooks;
  const requests = asked.map((webhookId) => requestOf(webhookId, limit));
  return leasedBy(await leases.outbox.claim(requests, { ...CLAIM_LIMITS, ...limits }));
}

function requestOf(webhookId: WebhookId, limit: number): ClaimRequest {
  return requestFor(webhookId, limit, { accountInFlight: inFlightOf.get(webhookId) ?? 0 });
}

function countOf(claimed: readonly LeasedDelivery[], webhookId: WebhookId): number {
  return claimed.filter((delivery) => delivery.webhookId === webhookId).length;
}

describe('accounts', () => {
  test('have the same part of a claim, however many webhooks each has', async () => {
    const [many, one] = [await rows.account(), await rows.account()];
    const webhooks: WebhookId[] = [];
    for (let n = 0; n < 20; n += 1) webhooks.push(await rows.webhook({ accountId: many }));
    const single = await rows.webhook({ accountId: one });
    for (const id of [...webhooks, single]) await rows.deliveries(id, { count: 20 });
    const claimed = await claim([...webhooks, single], 20, { fastRowsMax: 16 });
    expect(claimed).toHaveLength(16);
    expect(countOf(claimed, single)).toBe(8);
    // Within the account, eight webhooks have one each.
    expect(new Set(claimed.map(({ webhookId }) => webhookId)).size).toBe(9);
  });

  test('that have more in flight come after those that have less', async () => {
    const [busy, quiet] = [await rows.webhook(), await rows.webhook()];
    await rows.deliveries(busy, { count: 20 });
    expect(await claim(busy, 6)).toHaveLength(6);
    inFlightOf.set(busy, 6);
    await rows.deliveries(quiet, { count: 20 });
    const claimed = await claim([busy, quiet], 20, { fastRowsMax: 8 });
    expect([countOf(claimed, busy), countOf(claimed, quiet)]).toEqual([1, 7]);
  });

  test('that have several webhooks have those with few in flight served first', async () => {
    const accountId = await rows.account();
    const [busy, idle] = [await rows.webhook({ accountId }), await rows.webhook({ accountId })];
    for (const id of [busy, idle]) await rows.deliveries(id, { count: 10 });
    expect(await claim(busy, 4)).toHaveLength(4);
    const claimed = await claim([busy, idle], 10, { fastRowsMax: 4 });
    expect([countOf(claimed, busy), countOf(claimed, idle)]).toEqual([0, 4]);
  });

  test('are served by what is due, also where more of them lies ahead', async () => {
    const accountId = await rows.account();
    const ahead: WebhookId[] = [];
    for (let n = 0; n < 5; n += 1) ahead.push(await rows.webhook({ accountId }));
    for (const id of ahead) await rows.deliveries(id, { dueInMs: 30_000 });
    const [due, other] = [await rows.webhook({ accountId }), await rows.webhook()];
    for (const id of [due, other]) await rows.deliveries(id, { count: 8 });
    const claimed = await claim([...ahead, due, other], 8, { fastRowsMax: 4, lookAheadSeconds: 60 });
    expect([countOf(claimed, due), countOf(claimed, other)]).toEqual([2, 2]);
  });

  describe('with 40 webhooks, each with five in flight, beside one with twenty', () => {
    const ROOM = 5;
    let many: WebhookId[];
    let single: WebhookId;
    beforeEach(async () => {
      const accountId = await rows.account();
      many = [];
      for (let n = 0; n < 40; n += 1) many.push(await rows.webhook({ accountId }));
      single = await rows.webhook();
      for (const id of many) await rows.deliveries(id, { count: ROOM + 1 });
      await rows.deliveries(single, { count: 40 });
      expect(await claim(many, ROOM)).toHaveLength(40 * ROOM);
      expect(await claim(single, 20)).toHaveLength(20);
      for (const id of many) inFlightOf.set(id, 40 * ROOM);
      inFlightOf.set(single, 20);
    });

    /** @returns of 16 rows how many each account got */
    async function shares(asked: readonly WebhookId[], freeOfMany: number): Promise<number[]> {
      const requests = [...asked, single].map((webhookId, index) => {
        const limit = webhookId === single ? 40 : ROOM + (index < freeOfMany ? 1 : 0);
        return requestOf(webhookId, limit);
      });
      const claimed = leasedBy(await leases.outbox.claim(requests, { ...CLAIM_LIMITS, fastRowsMax: 16 }));
      return [claimed.length - countOf(claimed, single), countOf(claimed, single)];
    }

    test('come after it, also where 39 of them may have no more', async () => {
      expect(await shares(many, 1)).toEqual([0, 16]);
    });

    test('come after it, also where only five of them are asked for', async () => {
      expect(await shares(many.slice(0, 5), 5)).toEqual([0, 16]);
    });
  });
});
