import { beforeEach, describe, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import type { WebhookReport } from '@postrider/store';
import { claimOf, leased } from '../../test/claims.ts';
import { WebhookState } from './webhook-state.ts';

let webhook: WebhookState;
let nowMs: number;

beforeEach(() => {
  nowMs = 0;
  webhook = new WebhookState('wh_a' as WebhookId, nowMs);
});

/** A claim for as much as the webhook's own limit. @returns the time until the next check */
function claim(more: Partial<WebhookReport> = {}, limit = webhook.grownLimit): number {
  const isCutByAccount = limit < webhook.grownLimit;
  webhook.observe(claimOf(more), { limit, isCutByAccount, quickLimit: 48, nowMs });
  return webhook.checkAtMs - nowMs;
}

function pass(ms: number): void {
  nowMs += ms;
}

describe('the limit', () => {
  test('starts at 8, and grows by two per ended delivery', () => {
    expect(webhook.grownLimit).toBe(8);
    const limits = Array.from({ length: 6 }, () => {
      claim({ leased: leased(webhook.grownLimit) }); // all that were leased before have ended
      pass(100);
      return webhook.grownLimit;
    });
    expect(limits).toEqual([8, 24, 40, 88, 168, 344]);
  });

  test('does not grow by deliveries whose lease expired', () => {
    claim({ leased: leased(8) });
    claim({ inFlight: 0, expired: 8, due: 8, leased: leased(8) });
    expect(webhook.grownLimit).toBe(8);
    claim({ inFlight: 5, expired: 1, due: 6, leased: leased(1) });
    expect(webhook.grownLimit).toBe(12);
  });

  test('does not grow by delayed jobs', () => {
    claim({ leased: leased(8, { dueInMs: 5_000 }), due: 0 });
    claim();
    expect(webhook.grownLimit).toBe(8);
  });

  test('falls to 8 while the endpoint is failing, and grows again', () => {
    claim({ leased: leased(8) });
    claim({ leased: leased(24) });
    expect(webhook.grownLimit).toBe(24);
    claim({ failing: true, leased: leased(8) });
    expect([webhook.grownLimit, webhook.lane]).toEqual([8, 'slow']);
    claim({ failing: true, leased: leased(8) });
    expect(webhook.grownLimit).toBe(8);
    claim();
    expect([webhook.grownLimit, webhook.lane]).toEqual([24, 'fast']);
  });
});

test('it waits for its account in the fast lane only, with more due than its account leaves it', () => {
  const isCut = () => webhook.account.cutWebhooks === 1;
  claim({ leased: leased(8) }); // as many as its own limit
  expect(isCut()).toBe(false);
  claim({ due: 3, inFlight: 3 }, 4);
  expect(isCut()).toBe(false);
  claim({ due: 4, inFlight: 4 }, 4);
  expect(isCut()).toBe(true);
  claim({ due: 4, inFlight: 4, stuck: 4 }, 4);
  expect([isCut(), webhook.lane]).toEqual([true, 'slow']);
  claim({ due: 4, inFlight: 4, stuck: 4 }, 4);
  expect(isCut()).toBe(false);
});

describe('the lane', () => {
  test('is fast for a new webhook, slow for a failing one', () => {
    expect(webhook.lane).toBe('fast');
    claim({ failing: true });
    expect(webhook.lane).toBe('slow');
    claim();
    expect(webhook.lane).toBe('fast');
  });

  test('is slow when half of the deliveries that may be in flight are stuck', () => {
    claim({ leased: leased(8) });
    pass(1_250);
    claim({ inFlight: 8, stuck: 3 });
    expect(webhook.lane).toBe('fast');
    claim({ inFlight: 8, stuck: 4 });
    expect(webhook.lane).toBe('slow');
  });

  test('is slow when eight are stuck, however many may be in flight', () => {
    claim({ inFlight: 100, stuck: 7 }, 200);
    expect(webhook.lane).toBe('fast');
    claim({ inFlight: 100, stuck: 8 }, 200);
    expect(webhook.lane).toBe('slow');
  });

  test('stays slow when the stuck attempts end, because they may have timed out', () => {
    claim({ leased: leased(8) });
    pass(1_250);
    claim({ inFlight: 8, stuck: 8 });
    pass(8_750);
    claim({ inFlight: 0 });
    expect(webhook.lane).toBe('slow');
  });

  test('is fast again when a delivery that was leased after the hang has ended', () => {
    claim({ leased: leased(8) });
    pass(1_250);
    claim({ inFlight: 8, stuck: 8 });
    pass(8_750);
    claim({ leased: leased(2) });
    pass(100);
    claim({ inFlight: 1 });
    expect(webhook.lane).toBe('fast');
  });

  test('stays slow while one attempt is still stuck, although others end', () => {
    claim({ inFlight: 8, stuck: 8 });
    pass(100);
    claim({ inFlight: 7, due: 8, leased: leased(1) });
    pass(100);
    claim({ inFlight: 6, stuck: 1 });
    expect(webhook.lane).toBe('slow');
  });

  test('stays slow when the last attempts of a slow endpoint end', () => {
    claim({ inFlight: 8, stuck: 8 });
    pass(1_500);
    claim({ inFlight: 3, stuck: 3, due: 8, leased: leased(5) });
    pass(100);
    claim({ inFlight: 5, due: 8, leased: leased(3) });
    expect(webhook.lane).toBe('slow');
    pass(100);
    claim({ inFlight: 4 });
    expect(webhook.lane).toBe('fast');
  });

  test('stays slow while attempts that were leased after the hang are stuck, too', () => {
    claim({ inFlight: 8, stuck: 8 });
    pass(100);
    claim({ inFlight: 7, due: 8, leased: leased(1) });
    pass(1_250);
    claim({ inFlight: 7, stuck: 7 });
    expect(webhook.lane).toBe('slow');
  });
});

describe('the next check', () => {
  test('is never, when nothing is outstanding', () => {
    expect(claim()).toBe(Infinity);
  });

  test('is after 10 ms, when due deliveries were left out', () => {
    expect(claim({ due: 5, leased: leased(2) })).toBe(10);
  });

  test('is after an eighth of the time in flight at the limit, within 10 and 500 ms', () => {
    expect(claim({ due: 20, leased: leased(8) })).toBe(10);
    for (let n = 0; n < 100; n += 1) {
      pass(50);
      claim({ due: 20, inFlight: 7, leased: leased(1) }, 8); // one of eight ends in 50 ms: each takes 400 ms
    }
    const afterMs = claim({ due: 20, inFlight: 8 }, 8);
    expect(afterMs).toBeGreaterThan(30);
    expect(afterMs).toBeLessThan(70);
    pass(60_000);
    expect(claim({ due: 20, inFlight: 8 }, 8)).toBe(500);
  });

  test('is after 500 ms while deliveries are in flight', () => {
    expect(claim({ leased: leased(2) })).toBe(500);
    pass(20_000);
    expect(claim({ inFlight: 2 })).toBe(500);
  });

  test('is when the next delivery is due, or comes within the look-ahead', () => {
    expect(claim({ nextDueInMs: 45_000 })).toBe(45_000);
    expect(claim({ nextDueInMs: 100_000 })).toBe(40_000);
  });

  test('is the earlier one of several', () => {
    expect(claim({ inFlight: 1, nextDueInMs: 100 })).toBe(100);
    expect(claim({ leased: leased(1), nextDueInMs: 50_000 })).toBe(500);
  });
});

test('the counts of its account follow', () => {
  claim({ inFlight: 3, due: 4, leased: leased(1) });
  expect(webhook.account).toMatchObject({ inFlight: 4, busyWebhooks: 1 });
  claim();
  expect(webhook.account).toMatchObject({ inFlight: 0, busyWebhooks: 0 });
});
