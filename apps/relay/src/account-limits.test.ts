import { beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountId, WebhookId } from '@postrider/domain';
import type { ClaimedDelivery } from '@postrider/store';
import { claimed } from '../test/claimed-deliveries.ts';
import { ConcurrencyLimits } from './concurrency-limits.ts';
import { LIMITS } from './webhook-state.ts';

const [A, B, C, D] = ['wh_a', 'wh_b', 'wh_c', 'wh_d'] as [WebhookId, WebhookId, WebhookId, WebhookId];
const [ACCOUNT, OTHER] = ['acct_1', 'acct_2'] as [AccountId, AccountId];
/** A quarter of the fleet's slots. */
const ACCOUNT_LIMIT = 256;
const SCAN_EVERY_MS = 240;

let limits: ConcurrencyLimits;
let now: number;
let fleetSlots: number;
beforeEach(() => {
  now = 0;
  fleetSlots = 4 * ACCOUNT_LIMIT;
  limits = new ConcurrencyLimits({ fleetSlots: () => fleetSlots, nowMs: () => now });
});

/** The limit of a webhook in a claim for it alone. */
function limitOf(webhookId: WebhookId): number {
  return limits.claimRequests([webhookId])[0]?.limit ?? 0;
}

/** Later, a scan finds no deliveries of these webhooks in flight. */
function nothingInFlight(...webhookIds: WebhookId[]): void {
  now += 2_000;
  for (const id of webhookIds) limits.noteIdle(id, now);
}

describe('an account’s deliveries in flight', () => {
  test('are passed with each claim request, other webhooks of the account included', () => {
    limits.observe(claimed(5));
    limits.observe(claimed(7, { webhookId: B }));
    limits.observe(claimed(3, { webhookId: C, accountId: OTHER }));
    expect(limits.claimRequests([A, C]).map(({ accountInFlight }) => accountInFlight)).toEqual([12, 3]);
    nothingInFlight(A, B);
    expect(limits.claimRequests([A]).map(({ accountInFlight }) => accountInFlight)).toEqual([0]);
  });
});

describe('the limit of an account’s webhooks that fail or have not answered yet', () => {
  const WEBHOOKS = Array.from({ length: 30 }, (_, n) => `wh_${n}` as WebhookId);
  const most = () => limits.claimRequests(WEBHOOKS).reduce((sum, { limit }) => sum + limit, 0);

  test.each([
    ['fail', { failing: true }],
    ['hang', { leaseExpired: true }],
  ])('is a sixteenth of all slots where they %s', (_, more) => {
    for (const webhookId of WEBHOOKS) limits.observe(claimed(1, { webhookId, ...more }));
    for (const webhookId of WEBHOOKS) limits.observe(claimed(1, { webhookId, ...more }));
    expect(most()).toBeLessThanOrEqual(ACCOUNT_LIMIT / 4);
  });

  test('does not apply to webhooks that answer, even late', () => {
    for (const webhookId of WEBHOOKS) limits.observe(claimed(8, { webhookId }));
    for (const webhookId of WEBHOOKS) limits.noteStuck(webhookId);
    now += 9_000;
    for (const webhookId of WEBHOOKS) limits.observe(claimed(1, { webhookId, inFlight: 7, stuck: true }));
    for (const webhookId of WEBHOOKS) limits.observe(claimed(1, { webhookId, inFlight: 6, stuck: true }));
    expect(most()).toBeGreaterThan(ACCOUNT_LIMIT / 2);
  });

  test('leaves the rest of the account limit to webhooks that answer', () => {
    limits.observe(claimed(8));
    limits.observe(claimed(8));
    const [first = A] = WEBHOOKS;
    limits.observe(claimed(ACCOUNT_LIMIT / 4, { webhookId: first, leaseExpired: true }));
    expect(limitOf(A)).toBe(24);
  });
});

describe('the limit of an account', () => {
  /** Claims until the webhook's own limit exceeds the limit of its account. */
  function earn(webhookId: WebhookId, accountId: AccountId): void {
    for (let claim = 0; claim < 20; claim += 1) {
      now += 200; // slow, so the limit of quick endpoints does not apply
      limits.observe(claimed(limitOf(webhookId), { webhookId, accountId }));
    }
    nothingInFlight(webhookId);
  }

  test('is a quarter of the fleet’s current slots', () => {
    earn(A, ACCOUNT);
    expect(limitOf(A)).toBe(ACCOUNT_LIMIT);
    fleetSlots = 80;
    expect(limitOf(A)).toBe(20);
    fleetSlots = 4;
    expect(limitOf(A)).toBe(LIMITS.first);
  });

  test('is divided among the webhooks of one claim', () => {
    for (const id of [A, B]) earn(id, ACCOUNT);
    earn(C, OTHER);
    expect(limits.claimRequests([A, B, C]).map(({ limit }) => limit)).toEqual([128, 128, 256]);
  });

  test('counts deliveries in flight of the account’s other webhooks', () => {
    for (const id of [A, B]) earn(id, ACCOUNT);
    limits.observe(claimed(100));
    expect(limitOf(B)).toBe(ACCOUNT_LIMIT - 100);
    expect(limitOf(A)).toBe(ACCOUNT_LIMIT);
    expect(limitOf(C)).toBe(LIMITS.first);
  });

  test('gives each webhook its fair share at once; the others give it back', () => {
    for (const id of [A, B]) earn(id, ACCOUNT);
    limits.observe(claimed(ACCOUNT_LIMIT));
    expect(limitOf(B)).toBe(ACCOUNT_LIMIT / 2);
    limits.observe(claimed(20, { webhookId: B }));
    expect(limitOf(A)).toBe(ACCOUNT_LIMIT - 20);
    limits.observe(claimed(1, { webhookId: B, inFlight: ACCOUNT_LIMIT / 2 - 1 }));
    expect(limitOf(A)).toBe(ACCOUNT_LIMIT / 2);
  });

  test('counts a webhook as at its limit while its whole share is in flight', () => {
    for (const id of [A, B]) earn(id, ACCOUNT);
    limits.observe(claimed(ACCOUNT_LIMIT / 2, { webhookId: B }));
    expect(limits.isAtLimit(B)).toBe(false);
    limits.observe(claimed(ACCOUNT_LIMIT));
    limits.claimRequests([B]);
    expect(limits.isAtLimit(B)).toBe(true);
    nothingInFlight(A, B);
    expect(limits.isAtLimit(B)).toBe(false);
  });

  test('lets a webhook keep up beside a slower one with a backlog', () => {
    const backlogged = simulated(A, 600, 1_000_000);
    const steady = simulated(B, 200, 0);
    for (let elapsedMs = 0; elapsedMs < 30_000; elapsedMs += 10) {
      now += 10;
      if (elapsedMs >= 5_000 && elapsedMs % 50 === 0) steady.waiting += 1;
      const busy = [backlogged, steady].filter(({ waiting }) => waiting > 0);
      const allowed = limits.claimRequests(busy.map(({ webhookId }) => webhookId));
      limits.observe(busy.flatMap((webhook, index) => webhook.claim(allowed[index]?.limit ?? 0)));
    }
    expect(steady.waiting).toBeLessThan(5);
    expect(backlogged.inFlight()).toBeGreaterThan(0.9 * ACCOUNT_LIMIT);
  });

  test.each([600, 1_200, 1_500, 4_000])(
    'bounds four webhooks with backlogs together, with attempts of %d ms',
    (takesMs) => {
      const webhooks = [A, B, C, D].map((id) => simulated(id, takesMs, 1_000_000));
      const total = () => webhooks.reduce((sum, webhook) => sum + webhook.inFlight(), 0);
      let most = 0;
      for (let elapsedMs = 0; elapsedMs < 40_000; elapsedMs += 40) {
        if (elapsedMs % SCAN_EVERY_MS === 0) for (const webhook of webhooks) webhook.scan();
        for (const webhook of webhooks) {
          now += 10;
          limits.observe(webhook.claim(limitOf(webhook.webhookId)));
          if (elapsedMs > 20_000) most = Math.max(most, total()); // their limits have grown
        }
      }
      expect(most).toBeLessThanOrEqual(ACCOUNT_LIMIT + webhooks.length);
      expect(most).toBeGreaterThan(0.9 * ACCOUNT_LIMIT);
    },
  );

  test('leaves a busy webhook its rate beside a hundred webhooks with occasional bursts', () => {
    const busy = simulated(A, 600, 0);
    const others = Array.from({ length: 100 }, (_, n) => simulated(`wh_${n}` as WebhookId, 50, 0));
    for (let elapsedMs = 0; elapsedMs < 30_000; elapsedMs += 10) {
      now += 10;
      busy.waiting += 1;
      for (const [n, other] of others.entries()) if ((elapsedMs + 10 * n) % 900 === 0) other.waiting += 8;
      if (elapsedMs % SCAN_EVERY_MS === 0) for (const webhook of [busy, ...others]) webhook.scan();
      const asked = [busy, ...others].filter(({ waiting }) => waiting > 0);
      const allowed = limits.claimRequests(asked.map(({ webhookId }) => webhookId));
      limits.observe(asked.flatMap((webhook, index) => webhook.claim(allowed[index]?.limit ?? 0)));
    }
    expect(busy.waiting).toBeLessThan(5);
  });

  /** Simulates a webhook with attempts of `takesMs`. */
  function simulated(webhookId: WebhookId, takesMs: number, waiting: number) {
    const endsAtMs: number[] = [];
    const webhook = {
      webhookId,
      waiting,
      wasStuck: false,
      inFlight(): number {
        while ((endsAtMs[0] ?? Infinity) <= now) endsAtMs.shift();
        return endsAtMs.length;
      },
      scan(): void {
        webhook.inFlight();
        if (endsAtMs.length === 0) limits.noteIdle(webhookId, now);
        const stuck = (endsAtMs[0] ?? Infinity) - takesMs < now - 1_000;
        if (stuck && webhook.wasStuck) limits.noteStuck(webhookId);
        webhook.wasStuck = stuck;
      },
      claim(limit: number): ClaimedDelivery[] {
        const inFlight = Math.min(limit, webhook.inFlight());
        const count = Math.min(webhook.waiting, limit - inFlight);
        webhook.waiting -= count;
        for (let n = 0; n < count; n += 1) endsAtMs.push(now + takesMs);
        return claimed(count, { webhookId, inFlight });
      },
    };
    return webhook;
  }

  test('counts claimed deliveries until a scan finds that they have ended', () => {
    for (const id of [A, B]) earn(id, ACCOUNT);
    limits.observe(claimed(100));
    now += 9_000;
    expect(limitOf(B)).toBe(ACCOUNT_LIMIT - 100);
    nothingInFlight(A);
    expect(limitOf(B)).toBe(ACCOUNT_LIMIT);
  });

  test('counts deliveries claimed after an idle scan had begun', () => {
    for (const id of [A, B]) earn(id, ACCOUNT);
    const begunAtMs = now;
    now += 1;
    limits.observe(claimed(100));
    limits.noteIdle(A, begunAtMs);
    expect(limitOf(B)).toBe(ACCOUNT_LIMIT - 100);
  });

  test('leaves each webhook at least one delivery in flight', () => {
    fleetSlots = 0;
    for (let n = 0; n < 20; n += 1) limits.observe(claimed(1, { webhookId: `wh_${n}` as WebhookId }));
    limits.observe(claimed(LIMITS.first));
    expect(limitOf(B)).toBe(LIMITS.first);
    limits.observe(claimed(1, { webhookId: B }));
    expect(limitOf(B)).toBe(1);
  });
});
