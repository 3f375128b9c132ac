import { expect, test } from '@jest/globals';
import { webhookLimits } from './fair-shares.ts';
import type { AskingWebhook, Capacity } from './fair-shares.ts';
import type { AccountState } from './webhook-state.ts';

/** An account may use 32 of these slots while another one needs its share. */
const BESIDE_OTHERS: Capacity = { slots: 128, oneAccount: false, needingShare: new Set([account(32, 1)]) };

function account(inFlight = 0, busyWebhooks = 0): AccountState {
  return { inFlight, busyWebhooks, cutWebhooks: 0, webhookCount: busyWebhooks };
}

function webhook(more: Partial<AskingWebhook> = {}): AskingWebhook {
  const known = { grownLimit: 1_000, inFlight: 0, isQuick: false, lane: 'fast' } as const;
  return { account: account(more.inFlight ?? 0, Number((more.inFlight ?? 0) > 0)), ...known, ...more };
}

const several = (count: number, more: Partial<AskingWebhook>) =>
  Array.from({ length: count }, () => webhook(more));

/** The limits of these webhooks. */
function limitsOf(asking: readonly AskingWebhook[], capacity = BESIDE_OTHERS): number[] {
  return webhookLimits(asking, capacity).map(({ limit }) => limit);
}

test('a webhook gets no more than its own limit', () => {
  expect(limitsOf([webhook({ grownLimit: 8 })])).toEqual([8]);
});

test('an account has a quarter of the slots while another one needs its share, at least eight', () => {
  expect(limitsOf([webhook()])).toEqual([32]);
  expect(limitsOf([webhook()], { ...BESIDE_OTHERS, slots: 4 })).toEqual([8]);
});

test('an account has all slots while no other one needs its share, but not of the slow lane', () => {
  const own = account(40, 1);
  for (const needingShare of [new Set<AccountState>(), new Set([own])]) {
    const asking = [webhook({ account: own, inFlight: 40 })];
    expect(limitsOf(asking, { ...BESIDE_OTHERS, needingShare })).toEqual([128]);
    const slow = asking.map((each) => ({ ...each, lane: 'slow' as const }));
    expect(limitsOf(slow, { ...BESIDE_OTHERS, needingShare })).toEqual([32]);
  }
  const needingShare = new Set([own, account(32, 1)]);
  expect(limitsOf([webhook({ account: own, inFlight: 40 })], { ...BESIDE_OTHERS, needingShare })).toEqual([
    32,
  ]);
});

test.each([
  [64, 8],
  [768, 48],
  [7_680, 480],
])('of %i slots, a quick webhook has %i beside others', (slots, limit) => {
  const quick = webhook({ isQuick: true, grownLimit: 10_000 });
  expect(limitsOf([quick], { slots, oneAccount: false, needingShare: new Set() })).toEqual([limit]);
  expect(limitsOf([quick], { slots, oneAccount: true, needingShare: new Set() })).toEqual([slots]);
});

test('the webhooks of an account that ask together divide its limit', () => {
  expect(limitsOf(several(4, { account: account() }))).toEqual([8, 8, 8, 8]);
});

test('the account cuts the limit of a webhook, or the webhook’s own limit does', () => {
  const cuts = [webhook(), webhook({ grownLimit: 8 }), webhook({ isQuick: true })];
  const limits = webhookLimits(cuts, { ...BESIDE_OTHERS, slots: 768 });
  expect(limits).toEqual([
    { limit: 192, isCutByAccount: true },
    { limit: 8, isCutByAccount: false },
    { limit: 48, isCutByAccount: false },
  ]);
});

test('webhooks of different accounts take nothing from each other', () => {
  expect(limitsOf([webhook(), webhook()])).toEqual([32, 32]);
});

test('busy webhooks that do not ask keep what they have', () => {
  const shared = account(20, 1);
  expect(limitsOf([webhook({ account: shared })])).toEqual([16]); // its fair half at once
  expect(limitsOf([webhook({ account: account(10, 1) })])).toEqual([22]);
});

test('a webhook above its fair part gives back what others need', () => {
  const shared = account(40, 2);
  const [greedy, modest] = [
    webhook({ account: shared, inFlight: 34 }),
    webhook({ account: shared, inFlight: 6 }),
  ];
  expect(limitsOf([greedy, modest])).toEqual([30, 16]);
});

test('every webhook may have one delivery in flight', () => {
  const shared = account(32, 32);
  const [limit] = limitsOf([webhook({ account: shared })]);
  expect(limit).toBe(1);
});

test('many busy webhooks of one account exceed its limit by their fair parts at most', () => {
  const shared = account();
  const limits = limitsOf(several(100, { account: shared }));
  expect(new Set(limits)).toEqual(new Set([1]));
});
