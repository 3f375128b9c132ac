import { beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountId, WebhookId } from '@postrider/domain';
import { claimed } from '../test/claimed-deliveries.ts';
import { ConcurrencyLimits } from './concurrency-limits.ts';
import { LIMITS } from './webhook-state.ts';

const [A, B, C] = ['wh_a', 'wh_b', 'wh_c'] as [WebhookId, WebhookId, WebhookId];
const OTHER = 'acct_2' as AccountId;
/** A quarter of the fleet's slots. */
const ACCOUNT_LIMIT = 256;

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

describe('the limit of a webhook', () => {
  test('starts at 8, grows with ended deliveries, and has an upper bound', () => {
    const allowed = [limitOf(A)];
    for (let claim = 0; claim < 8; claim += 1) {
      limits.observe(claimed(limitOf(A)));
      allowed.push(limitOf(A));
    }
    expect(allowed).toEqual([8, 8, 24, 40, 88, 168, 256, 256, 256]);
    limits.observe(claimed(256));
    expect(limitOf(A)).toBe(ACCOUNT_LIMIT);
  });

  test('is 48 for a quick endpoint while others are served, and for two seconds after', () => {
    for (let claim = 0; claim < 9; claim += 1) limits.observe(claimed(limitOf(A)));
    limits.observe(claimed(1, { webhookId: B }));
    limits.observe(claimed(100, { inFlight: 20 }));
    expect(limitOf(A)).toBe(LIMITS.shared);
    now += 1_999;
    limits.observe(claimed(20));
    expect(limitOf(A)).toBe(LIMITS.shared);
    now += 1;
    limits.observe(claimed(20));
    expect(limitOf(A)).toBeGreaterThan(LIMITS.shared);
  });

  test.each([120, 600, 4_000])(
    'is the account’s limit for an endpoint that takes %d ms, also while others are served',
    (flightMs) => {
      for (let claim = 0; claim < 100; claim += 1) {
        limits.observe(claimed(1, { webhookId: B, accountId: OTHER }));
        serve(1, flightMs, flightMs / 8);
      }
      expect(limitOf(A)).toBe(ACCOUNT_LIMIT);
    },
  );

  test.each([2_500, 4_000])('is the account’s limit when answers arrive together every %d ms', (waveMs) => {
    for (let wave = 0; wave < 6; wave += 1) {
      now += waveMs - 10;
      limits.observe(claimed(1, { webhookId: B, accountId: OTHER }));
      now += 10;
      limits.observe(claimed(limitOf(A)));
    }
    expect(limitOf(A)).toBe(ACCOUNT_LIMIT);
  });

  test('reaches the account’s limit within 20 s when a quick endpoint becomes slow', () => {
    expect(serveBeside(5_000, 5)).toBe(LIMITS.shared);
    expect(serveBeside(20_000, 600)).toBe(ACCOUNT_LIMIT);
  });

  test.each([500, 1_000, 4_000])(
    'stays at 48 for a flood of %d deliveries per second, also if it was alone before',
    (perSecond) => {
      serveBeside(1_000, 5);
      for (let elapsedMs = 0; elapsedMs < 60_000; elapsedMs += 20) serve(1, (limitOf(A) * 1000) / perSecond);
      expect(limitOf(A)).toBe(ACCOUNT_LIMIT);
      expect(serveBeside(60_000, (LIMITS.shared * 1000) / perSecond)).toBe(LIMITS.shared);
    },
  );

  /** Serves the webhook for `forMs` while another webhook is served, too. @returns its limit */
  function serveBeside(forMs: number, flightMs: number): number {
    for (let elapsedMs = 0; elapsedMs < forMs; elapsedMs += 20) {
      limits.observe(claimed(1, { webhookId: B, accountId: OTHER }));
      serve(1, flightMs);
    }
    return limitOf(A);
  }

  test('does not mistake a slow endpoint for a quick one when many deliveries end right after a claim', () => {
    serve(50, 600, 10);
    for (let claim = 0; claim < 20; claim += 1) {
      limits.observe(claimed(1, { webhookId: B, accountId: OTHER }));
      now += 1;
      const limit = limitOf(A);
      limits.observe(claimed(2, { inFlight: limit - 2 }));
      now += 19;
      limits.observe(claimed(1, { inFlight: limit - 1 }));
    }
    expect(limitOf(A)).toBeGreaterThan(LIMITS.shared);
  });

  test('stays while an attempt takes long, because the endpoint may still answer', () => {
    for (let claim = 0; claim < 6; claim += 1) limits.observe(claimed(limitOf(A)));
    const before = limitOf(A);
    limits.observe(claimed(1, { stuck: true, inFlight: before - 1 }));
    expect(limitOf(A)).toBeGreaterThanOrEqual(before);
  });

  test('grows by two per delivery that ended since the last claim', () => {
    limits.observe(claimed(8));
    limits.observe(claimed(3, { inFlight: 5 }));
    expect(limitOf(A)).toBe(14);
    limits.observe(claimed(3, { inFlight: 8 }));
    expect(limitOf(A)).toBe(14);
  });

  test('falls to 4 when the endpoint fails, and grows again when it answers', () => {
    for (let claim = 0; claim < 5; claim += 1) limits.observe(claimed(limitOf(A)));
    limits.observe(claimed(1, { failing: true }));
    expect(limitOf(A)).toBe(LIMITS.failing);
    limits.observe(claimed(4));
    limits.observe(claimed(4));
    expect(limitOf(A)).toBe(LIMITS.failing + 10);
  });

  /** Each claim finds the deliveries ended that took `flightMs`, and fills the limit again. */
  function serve(claims: number, flightMs: number, intervalMs = 20): number {
    for (let claim = 0; claim < claims; claim += 1) {
      const limit = Math.floor(limitOf(A));
      const ended = Math.max(1, Math.min(limit - 1, Math.round((limit * intervalMs) / flightMs)));
      now += intervalMs;
      limits.observe(claimed(ended, { inFlight: limit - ended }));
    }
    return limitOf(A);
  }

  test('is reached when a claim leased that many', () => {
    expect(limits.isAtLimit(A)).toBe(false);
    limits.observe(claimed(7));
    expect(limits.isAtLimit(A)).toBe(false);
    limits.observe(claimed(1, { inFlight: 7 }));
    expect(limits.isAtLimit(A)).toBe(true);
  });

  test('is reached when a claim read that many rows, also if another relay got most of them', () => {
    limits.observe(claimed(1, { rowsRead: LIMITS.first }));
    expect(limits.isAtLimit(A)).toBe(true);
  });

  test('is reached by rows that are not due yet, too: due rows may follow them', () => {
    limits.observe(claimed(2, { failing: true, delayMs: 30_000 }));
    expect(limits.isAtLimit(A)).toBe(false);
    limits.observe(claimed(2, { failing: true, delayMs: 30_000, rowsRead: 4 }));
    expect(limits.isAtLimit(A)).toBe(true);
  });

  test('does not grow by deliveries whose lease expired', () => {
    limits.observe(claimed(8));
    limits.observe(claimed(8, { leaseExpired: true }));
    expect(limitOf(A)).toBe(LIMITS.first);
  });

  test('does not grow by deliveries that could not be queued', () => {
    for (let claim = 0; claim < 5; claim += 1) {
      const deliveries = claimed(8);
      limits.observe(deliveries);
      limits.noteReleased(deliveries);
    }
    expect(limits.claimRequests([A])).toMatchObject([{ webhookId: A, limit: LIMITS.first, fastLimit: 1 }]);
  });

  test('is separate for each webhook', () => {
    limits.observe([...claimed(8), ...claimed(8, { webhookId: B })]);
    limits.observe([...claimed(8), ...claimed(8, { webhookId: B, failing: true })]);
    expect([A, B, C].map(limitOf)).toEqual([24, LIMITS.failing, LIMITS.first]);
  });

  test('is remembered for 50,000 webhooks; the one served longest ago is forgotten first', () => {
    for (const webhookId of [A, B]) {
      limits.observe(claimed(8, { webhookId }));
      limits.observe(claimed(8, { webhookId }));
    }
    for (let n = 0; n < 49_998; n += 1)
      limits.observe(claimed(1, { webhookId: `wh_${n}` as WebhookId, accountId: OTHER }));
    limits.observe(claimed(1, { inFlight: 24 })); // A is used again; B is the oldest now
    limits.observe(claimed(1, { webhookId: C }));
    expect([A, B].map(limitOf)).toEqual([24, LIMITS.first]);
  });
});

describe('the limit in the fast lane', () => {
  const fastLimit = () => limits.claimRequests([A])[0]?.fastLimit;

  test('is one until a delivery has ended, then the webhook’s whole limit', () => {
    expect(fastLimit()).toBe(1);
    limits.observe(claimed(8));
    expect(fastLimit()).toBe(1);
    limits.observe(claimed(8, { inFlight: 7 }));
    expect(fastLimit()).toBe(limitOf(A));
  });

  test('stays one with delayed deliveries and expired leases', () => {
    limits.observe(claimed(4, { delayMs: 30_000 }));
    limits.observe(claimed(2));
    limits.observe(claimed(2, { leaseExpired: true }));
    expect(limits.claimRequests([A])).toMatchObject([{ webhookId: A, limit: LIMITS.first, fastLimit: 1 }]);
  });

  test('is one after a failure, until a delivery ends', () => {
    for (const more of [{}, {}, { failing: true }]) limits.observe(claimed(4, more));
    limits.observe(claimed(4, { inFlight: 4 }));
    expect(fastLimit()).toBe(1);
    limits.observe(claimed(4, { inFlight: 0 }));
    expect(fastLimit()).toBe(limitOf(A));
  });

  test('is zero once an attempt hangs, and after all attempts have timed out', () => {
    limits.observe(claimed(8));
    limits.observe(claimed(8));
    limits.noteStuck(A);
    expect(fastLimit()).toBe(0);
    limits.observe(claimed(8)); // the eight before have ended, by their time limit
    expect(fastLimit()).toBe(0);
    limits.noteStuck(A);
    limits.observe(claimed(8));
    expect(fastLimit()).toBe(0);
  });

  test('is the whole limit again when attempts end that started after the hang', () => {
    limits.observe(claimed(8));
    limits.noteStuck(A);
    limits.observe(claimed(3, { stuck: true, inFlight: 5 }));
    limits.observe(claimed(3, { stuck: true, inFlight: 5 }));
    expect(fastLimit()).toBe(0);
    limits.observe(claimed(5, { inFlight: 3 }));
    expect(fastLimit()).toBe(limitOf(A));
  });

  test('stays when one claim finds an attempt stuck, because the database may have been slow', () => {
    limits.observe(claimed(8));
    limits.observe(claimed(8));
    limits.observe(claimed(3, { stuck: true, inFlight: 5 }));
    expect(fastLimit()).toBe(limitOf(A));
  });

  describe('of an endpoint with a few answers that take seconds', () => {
    /** 100 events a second. `slow` attempts take seconds. */
    function serve(claims: number, slow: number): void {
      for (let claim = 0; claim < claims; claim += 1) {
        now += 10;
        limits.observe(claimed(1, { inFlight: slow, stuck: true }));
        if (now % 250 === 0) limits.noteStuck(A); // the scan sees it
      }
    }

    test('is the whole limit, because parking frees the slots', () => {
      limits.observe(claimed(8));
      serve(200, 3);
      expect(fastLimit()).toBe(limitOf(A));
    });

    test('is zero once no delivery ends', () => {
      limits.observe(claimed(8));
      serve(200, 3);
      for (let inFlight = 4; inFlight < 100 && fastLimit() !== 0; inFlight += 1) serve(1, inFlight);
      expect(fastLimit()).toBe(0);
    });

    test('is zero once all deliveries in flight hang and nothing can be claimed', () => {
      limits.observe(claimed(8));
      serve(200, 3);
      now += 1_000;
      limits.noteStuck(A);
      expect(fastLimit()).toBe(0);
    });

    test('is the whole limit again soon after a scan found it hanging', () => {
      limits.observe(claimed(8));
      limits.observe(claimed(8));
      limits.noteStuck(A);
      serve(200, 3);
      expect(fastLimit()).toBe(limitOf(A));
    });
  });

  test('is zero from the start when another relay’s attempt hangs', () => {
    limits.noteStuck(A);
    expect(fastLimit()).toBe(0);
  });
});

describe('the lane of a webhook’s deliveries', () => {
  test('is known once the endpoint answers, fails or hangs', () => {
    expect(limits.knownLane(A)).toBeNull();
    limits.observe(claimed(8));
    expect(limits.knownLane(A)).toBeNull();
    limits.observe(claimed(8));
    expect(limits.knownLane(A)).toBe('fast');
    limits.noteStuck(A);
    expect(limits.knownLane(A)).toBe('slow');
    limits.observe(claimed(1, { failing: true }));
    expect(limits.knownLane(A)).toBe('slow');
  });
});

describe('the order to claim in', () => {
  test('puts webhooks never served first, then those served longest ago', () => {
    limits.observe(claimed(1, { webhookId: B, accountId: OTHER }));
    limits.observe(claimed(1, { webhookId: A }));
    expect(limits.claimOrder([A, B, C])).toEqual([C, B, A]);
    limits.observe(claimed(1, { webhookId: B, accountId: OTHER }));
    expect(limits.claimOrder([A, B, C])).toEqual([C, A, B]);
  });

  test('alternates between accounts', () => {
    limits.observe(
      [claimed(1), claimed(1, { webhookId: B }), claimed(1, { webhookId: C, accountId: OTHER })].flat(),
    );
    expect(limits.claimOrder([A, B, C])).toEqual([A, C, B]);
  });

  test('keeps the caller’s order for ties', () => {
    expect(limits.claimOrder([C, A, B])).toEqual([C, A, B]);
  });
});
