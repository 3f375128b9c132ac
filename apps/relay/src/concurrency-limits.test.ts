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

/** What a webhook may have in flight when it alone is claimed for. */
function limitOf(webhookId: WebhookId): number {
  return limits.claimRequests([webhookId])[0]?.limit ?? 0;
}

describe('the limit of a webhook', () => {
  test('begins small, grows by what each round has ended, and has a bound', () => {
    const allowed = [limitOf(A)];
    for (let round = 0; round < 8; round += 1) {
      limits.observe(claimed(limitOf(A)));
      allowed.push(limitOf(A));
    }
    expect(allowed).toEqual([8, 8, 24, 40, 88, 168, 256, 256, 256]);
    limits.observe(claimed(256));
    expect(limitOf(A)).toBe(ACCOUNT_LIMIT);
  });

  test('of a quick endpoint is smaller while others are served, and for two seconds after', () => {
    for (let round = 0; round < 9; round += 1) limits.observe(claimed(limitOf(A)));
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
    'of an endpoint that takes %d ms is the account’s, also while others are served',
    (flightMs) => {
      for (let round = 0; round < 100; round += 1) {
        limits.observe(claimed(1, { webhookId: B, accountId: OTHER }));
        serve(1, flightMs, flightMs / 8);
      }
      expect(limitOf(A)).toBe(ACCOUNT_LIMIT);
    },
  );

  test.each([2_500, 4_000])(
    'of an endpoint whose answers come together, every %d ms, is the account’s',
    (waveMs) => {
      for (let wave = 0; wave < 6; wave += 1) {
        now += waveMs - 10;
        limits.observe(claimed(1, { webhookId: B, accountId: OTHER }));
        now += 10;
        limits.observe(claimed(limitOf(A)));
      }
      expect(limitOf(A)).toBe(ACCOUNT_LIMIT);
    },
  );

  test('of a quick endpoint that becomes slow is the account’s within 20 seconds', () => {
    expect(serveBeside(5_000, 5)).toBe(LIMITS.shared);
    expect(serveBeside(20_000, 600)).toBe(ACCOUNT_LIMIT);
  });

  test.each([500, 1_000, 4_000])(
    'of a flood that gets %d deliveries a second stays small, also when it was alone before',
    (perSecond) => {
      serveBeside(1_000, 5);
      for (let elapsedMs = 0; elapsedMs < 60_000; elapsedMs += 20) serve(1, (limitOf(A) * 1000) / perSecond);
      expect(limitOf(A)).toBe(ACCOUNT_LIMIT);
      expect(serveBeside(60_000, (LIMITS.shared * 1000) / perSecond)).toBe(LIMITS.shared);
    },
  );

  /** Beside another webhook, for so long. */
  function serveBeside(forMs: number, flightMs: number): number {
    for (let elapsedMs = 0; elapsedMs < forMs; elapsedMs += 20) {
      limits.observe(claimed(1, { webhookId: B, accountId: OTHER }));
      serve(1, flightMs);
    }
    return limitOf(A);
  }

  test('of an endpoint that is slow is not taken for quick by chance: many may end right after a claim', () => {
    serve(50, 600, 10);
    for (let round = 0; round < 20; round += 1) {
      limits.observe(claimed(1, { webhookId: B, accountId: OTHER }));
      now += 1;
      const limit = limitOf(A);
      limits.observe(claimed(2, { inFlight: limit - 2 }));
      now += 19;
      limits.observe(claimed(1, { inFlight: limit - 1 }));
    }
    expect(limitOf(A)).toBeGreaterThan(LIMITS.shared);
  });

  test('is not cut while an attempt takes long: the endpoint may answer all the same', () => {
    for (let round = 0; round < 6; round += 1) limits.observe(claimed(limitOf(A)));
    const before = limitOf(A);
    limits.observe(claimed(1, { stuck: true, inFlight: before - 1 }));
    expect(limitOf(A)).toBeGreaterThanOrEqual(before);
  });

  test('grows by two for each that ended since the last claim, not for those still in flight', () => {
    limits.observe(claimed(8));
    limits.observe(claimed(3, { inFlight: 5 }));
    expect(limitOf(A)).toBe(14);
    limits.observe(claimed(3, { inFlight: 8 }));
    expect(limitOf(A)).toBe(14);
  });

  test('falls back at once when it fails, and begins to grow anew when it answers again', () => {
    for (let round = 0; round < 5; round += 1) limits.observe(claimed(limitOf(A)));
    limits.observe(claimed(1, { failing: true }));
    expect(limitOf(A)).toBe(LIMITS.failing);
    limits.observe(claimed(4));
    limits.observe(claimed(4));
    expect(limitOf(A)).toBe(LIMITS.failing + 10);
  });

  /** Claims that find as many ended as their time in flight lets end, and fill the limit again. */
  function serve(rounds: number, flightMs: number, roundMs = 20): number {
    for (let round = 0; round < rounds; round += 1) {
      const room = Math.floor(limitOf(A));
      const ended = Math.max(1, Math.min(room - 1, Math.round((room * roundMs) / flightMs)));
      now += roundMs;
      limits.observe(claimed(ended, { inFlight: room - ended }));
    }
    return limitOf(A);
  }

  test('is full when a claim got all of it', () => {
    expect(limits.isAtLimit(A)).toBe(false);
    limits.observe(claimed(7));
    expect(limits.isAtLimit(A)).toBe(false);
    limits.observe(claimed(1, { inFlight: 7 }));
    expect(limits.isAtLimit(A)).toBe(true);
  });

  test('is full of what a claim has seen, also where another relay got most of it', () => {
    limits.observe(claimed(1, { rowsRead: LIMITS.first }));
    expect(limits.isAtLimit(A)).toBe(true);
  });

  test('is full also of deliveries that wait for their time: the next may be due right behind them', () => {
    limits.observe(claimed(2, { failing: true, delayMs: 30_000 }));
    expect(limits.isAtLimit(A)).toBe(false);
    limits.observe(claimed(2, { failing: true, delayMs: 30_000, rowsRead: 4 }));
    expect(limits.isAtLimit(A)).toBe(true);
  });

  test('does not grow by what was lost: deliveries that come back have not ended', () => {
    limits.observe(claimed(8));
    limits.observe(claimed(8, { leaseExpired: true }));
    expect(limitOf(A)).toBe(LIMITS.first);
  });

  test('does not grow by what could not be queued', () => {
    for (let round = 0; round < 5; round += 1) {
      const deliveries = claimed(8);
      limits.observe(deliveries);
      limits.noteReleased(deliveries);
    }
    expect(limits.claimRequests([A])).toMatchObject([{ webhookId: A, limit: LIMITS.first, fastLimit: 1 }]);
  });

  test('is each webhook’s own', () => {
    limits.observe([...claimed(8), ...claimed(8, { webhookId: B })]);
    limits.observe([...claimed(8), ...claimed(8, { webhookId: B, failing: true })]);
    expect([A, B, C].map(limitOf)).toEqual([24, LIMITS.failing, LIMITS.first]);
  });

  test('of webhooks beyond 50,000 is forgotten, the one longest not claimed for first', () => {
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

  test('is one until the webhook has ended some, and then all of its limit', () => {
    expect(fastLimit()).toBe(1);
    limits.observe(claimed(8));
    expect(fastLimit()).toBe(1);
    limits.observe(claimed(8, { inFlight: 7 }));
    expect(fastLimit()).toBe(limitOf(A));
  });

  test('stays one with deliveries that were only delayed, or come back lapsed', () => {
    limits.observe(claimed(4, { delayMs: 30_000 }));
    limits.observe(claimed(2));
    limits.observe(claimed(2, { leaseExpired: true }));
    expect(limits.claimRequests([A])).toMatchObject([{ webhookId: A, limit: LIMITS.first, fastLimit: 1 }]);
  });

  test('is one after a failure, until it has ended some again', () => {
    for (const more of [{}, {}, { failing: true }]) limits.observe(claimed(4, more));
    limits.observe(claimed(4, { inFlight: 4 }));
    expect(fastLimit()).toBe(1);
    limits.observe(claimed(4, { inFlight: 0 }));
    expect(fastLimit()).toBe(limitOf(A));
  });

  test('is none once an attempt hangs, nor for what follows when all have run out of time', () => {
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

  test('is all again when attempts have ended that were begun after it hung', () => {
    limits.observe(claimed(8));
    limits.noteStuck(A);
    limits.observe(claimed(3, { stuck: true, inFlight: 5 }));
    limits.observe(claimed(3, { stuck: true, inFlight: 5 }));
    expect(fastLimit()).toBe(0);
    limits.observe(claimed(5, { inFlight: 3 }));
    expect(fastLimit()).toBe(limitOf(A));
  });

  test('is not cut by one claim that finds an attempt slow: the database may have been, and the claim has seen to it', () => {
    limits.observe(claimed(8));
    limits.observe(claimed(8));
    limits.observe(claimed(3, { stuck: true, inFlight: 5 }));
    expect(fastLimit()).toBe(limitOf(A));
  });

  describe('of an endpoint of whose answers a few take seconds', () => {
    /** 100 events a second; so many of the answers are outstanding for long. */
    function serve(rounds: number, outstanding: number): void {
      for (let round = 0; round < rounds; round += 1) {
        now += 10;
        limits.observe(claimed(1, { inFlight: outstanding, stuck: true }));
        if (now % 250 === 0) limits.noteStuck(A); // the scan sees it
      }
    }

    test('is all: parking frees their slots', () => {
      limits.observe(claimed(8));
      serve(200, 3);
      expect(fastLimit()).toBe(limitOf(A));
    });

    test('is none once it ends nothing any more', () => {
      limits.observe(claimed(8));
      serve(200, 3);
      for (let inFlight = 4; inFlight < 100 && fastLimit() !== 0; inFlight += 1) serve(1, inFlight);
      expect(fastLimit()).toBe(0);
    });

    test('is none once all it may have in flight hangs, so that nothing is claimed', () => {
      limits.observe(claimed(8));
      serve(200, 3);
      now += 1_000;
      limits.noteStuck(A);
      expect(fastLimit()).toBe(0);
    });

    test('is all again soon after it was found to hang', () => {
      limits.observe(claimed(8));
      limits.observe(claimed(8));
      limits.noteStuck(A);
      serve(200, 3);
      expect(fastLimit()).toBe(limitOf(A));
    });
  });

  test('is none from the beginning where an attempt hangs that another relay handed out', () => {
    limits.noteStuck(A);
    expect(fastLimit()).toBe(0);
  });
});

describe('the lane that a webhook’s deliveries go to', () => {
  test('is known once it answers, fails or hangs', () => {
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
  test('is those never served, then those served longest ago', () => {
    limits.observe(claimed(1, { webhookId: B, accountId: OTHER }));
    limits.observe(claimed(1, { webhookId: A }));
    expect(limits.claimOrder([A, B, C])).toEqual([C, B, A]);
    limits.observe(claimed(1, { webhookId: B, accountId: OTHER }));
    expect(limits.claimOrder([A, B, C])).toEqual([C, A, B]);
  });

  test('has one webhook of each account in turn', () => {
    limits.observe(
      [claimed(1), claimed(1, { webhookId: B }), claimed(1, { webhookId: C, accountId: OTHER })].flat(),
    );
    expect(limits.claimOrder([A, B, C])).toEqual([A, C, B]);
  });

  test('of equals is as it was', () => {
    expect(limits.claimOrder([C, A, B])).toEqual([C, A, B]);
  });
});
