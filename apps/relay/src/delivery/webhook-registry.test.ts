import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { AccountId, WebhookId } from '@postrider/domain';
import type { Lane } from '@postrider/queue';
import type { WebhookReport } from '@postrider/store';
import TinyQueue from 'tinyqueue';
import { claimOf, leased } from '../../test/claims.ts';
import { WebhookRegistry } from './webhook-registry.ts';
import type { WebhookRequest } from './webhook-registry.ts';

const SLOTS = 128;

let registry: WebhookRegistry;
let nowMs: number;

beforeEach(() => {
  nowMs = 1_000;
  registry = new WebhookRegistry(() => SLOTS);
});
afterEach(() => {
  jest.restoreAllMocks();
});

const id = (name: string) => `wh_${name}` as WebhookId;
/** The account of a webhook is the first letter of its name. */
const accountOf = (webhookId: WebhookId) => `acct_${webhookId.charAt(3)}` as AccountId;

function wake(...names: string[]): void {
  for (const name of names) registry.addWoken(id(name), nowMs);
}

/** Claims for the next webhooks of a lane. @returns their names, in the order of the claim */
function claim(more: Partial<WebhookReport> = {}, lane: Lane = 'fast', webhooksMax = 100): string[] {
  registry.makeDue(nowMs);
  const requests = registry.nextRequests([lane], webhooksMax);
  const reports = requests.map(({ webhookId }) =>
    claimOf({ webhookId, accountId: accountOf(webhookId), ...more }),
  );
  registry.observe(requests, reports, nowMs);
  return requests.map(({ webhookId }) => webhookId.slice(3));
}

/** What the next claim of a lane would ask for. The webhooks stay due. */
function requests(lane: Lane = 'fast'): WebhookRequest[] {
  registry.makeDue(nowMs);
  const requests = registry.nextRequests([lane], 100);
  registry.putBack(requests);
  return requests;
}

describe('the webhooks to claim for', () => {
  test('are those that were woken, each once', () => {
    wake('a1', 'b1', 'a1');
    expect(claim()).toEqual(['a1', 'b1']);
    expect(claim()).toEqual([]);
  });

  test('are taken in turns over the accounts, and over the webhooks of each', () => {
    wake('a1', 'a2', 'a3', 'b1', 'c1');
    claim(); // makes their accounts known
    wake('a1', 'a2', 'a3', 'b1', 'c1');
    expect(claim({}, 'fast', 2)).toEqual(['a1', 'b1']);
    wake('a1');
    expect(claim()).toEqual(['c1', 'a2', 'a3', 'a1']);
  });

  test('are those of one lane', () => {
    wake('a1', 'b1');
    claim({ failing: true }, 'fast', 1);
    wake('a1');
    expect(registry.makeDue(nowMs)).toEqual(['fast', 'slow']);
    expect(claim({}, 'slow')).toEqual(['a1']);
    expect(claim({}, 'fast')).toEqual(['b1']);
    expect(registry.makeDue(nowMs)).toEqual([]);
  });

  test('stay due when the claim fails', () => {
    wake('a1', 'b1');
    registry.putBack(registry.nextRequests(['fast'], 100));
    expect(claim()).toEqual(['a1', 'b1']);
  });

  test('are those whose time has come', () => {
    wake('a1');
    claim({ nextDueInMs: 700 });
    expect(registry.nextCheckMs(nowMs)).toBe(700);
    nowMs += 699;
    expect(claim()).toEqual([]);
    nowMs += 1;
    expect(claim()).toEqual(['a1']);
    expect(registry.nextCheckMs(nowMs)).toBe(60_000); // it is forgotten then
  });

  test('are checked at the latest time that was set', () => {
    wake('a1');
    claim({ nextDueInMs: 700 });
    wake('a1');
    claim({ nextDueInMs: 5_000 });
    nowMs += 800;
    expect(claim()).toEqual([]);
    nowMs += 4_200;
    expect(claim()).toEqual(['a1']);
  });

  test('keep few times in mind, however often a webhook with a far retry has an event', () => {
    const [push, pop] = [jest.spyOn(TinyQueue.prototype, 'push'), jest.spyOn(TinyQueue.prototype, 'pop')];
    for (let second = 0; second < 600; second += 1) {
      wake('a1');
      claim({ leased: leased(1), nextDueInMs: 1_000_000 - nowMs });
      nowMs += 500;
      claim({ nextDueInMs: 1_000_000 - nowMs });
      nowMs += 500;
    }
    expect(push.mock.calls.length - pop.mock.calls.length).toBeLessThan(4);
    nowMs = 940_000;
    expect(claim({ leased: leased(1) })).toEqual(['a1']); // a minute before the retry
  });
});

describe('a wake-up', () => {
  test('makes the check due at once', () => {
    wake('a1');
    claim({ inFlight: 1 });
    nowMs += 5;
    expect(claim()).toEqual([]);
    wake('a1');
    expect(claim()).toEqual(['a1']);
  });

  test('does not make it due at the limit, where a check comes soon', () => {
    wake('a1');
    claim({ due: 20, leased: leased(8) });
    wake('a1');
    expect(claim()).toEqual([]);
    nowMs += 10;
    expect(claim()).toEqual(['a1']);
  });
});

describe('the sweep', () => {
  const lowWaterMark = { dueAt: '2025-01-01 00:00:00+00', deliveryId: '5' };

  test('makes an unknown webhook due, and sets where its claim starts', () => {
    registry.addFound({ webhookId: id('a1'), dueInMs: 10_000, lowWaterMark }, nowMs);
    expect(requests()).toMatchObject([{ webhookId: id('a1'), lowWaterMark }]);
  });

  test('makes a webhook due that has a due delivery and no check within two seconds', () => {
    wake('a1');
    claim({ nextDueInMs: 10_000 });
    registry.addFound({ webhookId: id('a1'), dueInMs: 10_000, lowWaterMark }, nowMs);
    expect(claim()).toEqual([]);
    registry.addFound({ webhookId: id('a1'), dueInMs: -1, lowWaterMark }, nowMs);
    expect(claim()).toEqual(['a1']);
  });

  test('makes an unknown webhook due when its delivery comes within the look-ahead', () => {
    registry.addFound({ webhookId: id('a1'), dueInMs: 100_000, lowWaterMark }, nowMs);
    expect(claim()).toEqual([]);
    expect(registry.nextCheckMs(nowMs)).toBe(40_000);
    nowMs += 40_000;
    expect(claim()).toEqual(['a1']);
  });

  test('leaves a webhook alone that is checked soon', () => {
    wake('a1');
    claim({ inFlight: 1 });
    registry.addFound({ webhookId: id('a1'), dueInMs: -1, lowWaterMark }, nowMs);
    expect(claim()).toEqual([]);
  });
});

describe('a webhook', () => {
  test('is forgotten a minute after it had nothing to do', () => {
    wake('a1');
    claim({ leased: leased(8) });
    nowMs += 1_000;
    claim();
    expect(requests()).toEqual([]);
    nowMs += 59_000;
    wake('a1');
    expect(requests()).toMatchObject([{ limit: 24 }]);
    claim();
    nowMs += 60_000;
    registry.makeDue(nowMs);
    wake('a1');
    expect(requests()).toMatchObject([{ limit: 8 }]);
  });

  test('is forgotten also when rounding makes the end of its minute differ from its age', () => {
    nowMs = 1_009_641.925289;
    wake('a1');
    claim();
    nowMs = 1_069_641.925289; // a minute later, rounded down
    expect(registry.makeDue(nowMs)).toEqual([]);
    expect(registry.nextCheckMs(nowMs + 1)).toBeGreaterThan(0);
  });

  test('is forgotten when it was removed', () => {
    wake('a1', 'a2');
    claim({ leased: leased(3) });
    wake('a1');
    registry.observe(registry.nextRequests(['fast'], 100), [], nowMs);
    wake('a2');
    expect(requests()).toMatchObject([{ webhookId: id('a2'), accountInFlight: 3 }]);
  });
});

describe('a claim', () => {
  test('asks with the deliveries in flight of the whole account', () => {
    wake('a1', 'a2', 'b1');
    claim({ leased: leased(3) });
    wake('a1', 'b1');
    expect(requests().map(({ accountInFlight }) => accountInFlight)).toEqual([6, 3]);
  });

  test('reads as many rows as are in flight, also above the limit', () => {
    wake('a1', 'b1');
    claim({ inFlight: 60 }); // another relay gave it more
    nowMs += 500;
    expect(requests()).toMatchObject([{ limit: 8, rowsToRead: 60 }, {}]);
  });

  /** The only webhook so far gets as much as it may have, five times. */
  function grow(name: string): void {
    wake(name);
    for (const limit of [8, 8, 24, 40, 88]) {
      expect(requests()).toMatchObject([{ webhookId: id(name), limit }]);
      claim({ due: 1_000, leased: leased(limit) });
      nowMs += 1_000;
    }
  }

  /** The limit that the next claim would give. */
  const limitOf = (name: string) => requests().find(({ webhookId }) => webhookId === id(name))?.limit;

  /** Claims for one webhook alone: the others stay due. @param more null: it was removed */
  function claimFor(name: string, more: Partial<WebhookReport> | null): void {
    registry.makeDue(nowMs);
    const taken = registry.nextRequests(['fast'], 100);
    const own = taken.filter(({ webhookId }) => webhookId === id(name));
    registry.putBack(taken.filter((request) => !own.includes(request)));
    const report = claimOf({ webhookId: id(name), accountId: accountOf(id(name)), ...more });
    registry.observe(own, more === null ? [] : [report], nowMs);
  }

  test('gives an account all slots while the others need less than their share', () => {
    grow('a1');
    wake('b1', 'c1');
    claimFor('b1', { inFlight: 31 });
    claimFor('c1', { inFlight: 31 });
    expect(limitOf('a1')).toBe(128);
  });

  test('gives an account a quarter while another one has its share in flight', () => {
    grow('a1');
    wake('b1');
    claimFor('b1', { inFlight: 32 });
    expect(limitOf('a1')).toBe(32);
    nowMs += 500; // both are checked again
    claimFor('b1', { inFlight: 31 });
    expect(limitOf('a1')).toBe(128);
  });

  /** Twenty webhooks of account b have one delivery each in flight, and more wait. @returns their names */
  function twentyWait(): string[] {
    const names = Array.from({ length: 20 }, (_, n) => `b${n}`);
    wake(...names);
    for (const name of names) claimFor(name, {}); // makes their account known
    wake(...names);
    for (const name of names) claimFor(name, { due: 8, leased: leased(1) });
    nowMs += 500; // all are checked again
    return names;
  }

  test('gives an account a quarter while webhooks of another one wait, which has less than its share in flight', () => {
    grow('a1');
    const others = twentyWait();
    expect(limitOf('a1')).toBe(32);
    for (const name of others) claimFor(name, {});
    expect(limitOf('a1')).toBe(128);
  });

  test('gives an account more than a quarter while only its own limit keeps a quick webhook of another one waiting', () => {
    registry = new WebhookRegistry(() => 512);
    grow('a1');
    wake('b1');
    for (let check = 0; check < 7; check += 1) {
      claimFor('b1', { due: 10_000, leased: leased(8) });
      nowMs += 20;
    }
    nowMs += 500; // both are checked again
    const limits = requests().map(({ webhookId, limit }) => [webhookId, limit]);
    expect(Object.fromEntries(limits)).toEqual({ [id('b1')]: 32, [id('a1')]: 168 });
  });

  test('gives an account all slots when the waiting webhooks of the other one were removed', () => {
    grow('a1');
    for (const name of twentyWait()) claimFor(name, null);
    expect(limitOf('a1')).toBe(128);
  });

  test('gives an account all slots when the other one’s webhook was removed', () => {
    grow('a1');
    wake('b1');
    claimFor('b1', { inFlight: 32 });
    nowMs += 500;
    claimFor('b1', null);
    expect(limitOf('a1')).toBe(128);
  });

  test('gives an account a quarter while a quarter of another one hangs', () => {
    grow('a1');
    wake('b1');
    claimFor('b1', { inFlight: 32 });
    nowMs += 3_000;
    claimFor('b1', { inFlight: 32, stuck: 32 }); // from now on it uses the slow lane
    expect(requests('slow')).toMatchObject([]);
    expect(limitOf('a1')).toBe(32);
  });

  test('gives a quick webhook all slots only while the relay knows no other account', () => {
    registry = new WebhookRegistry(() => 768);
    wake('a1');
    for (let check = 0; check < 7; check += 1) {
      claim({ due: 10_000, leased: leased(requests()[0]?.limit ?? 0) });
      nowMs += 20;
    }
    expect(limitOf('a1')).toBeGreaterThan(100);
    wake('b1');
    claimFor('b1', {});
    expect(limitOf('a1')).toBe(48);
    nowMs += 60_000; // the relay forgets the other one
    expect(limitOf('a1')).toBeGreaterThan(100);
  });

  test('frees a quick webhook of its part of a large fleet when its endpoint turns slow', () => {
    registry = new WebhookRegistry(() => 7_680);
    wake('a1');
    for (let check = 0; check < 9; check += 1) {
      claim({ due: 10_000, leased: leased(requests()[0]?.limit ?? 0) });
      nowMs += 20;
    }
    wake('b1');
    claimFor('b1', { nextDueInMs: 1_000_000 });
    expect(limitOf('a1')).toBe(480);
    for (let check = 0; check < 60; check += 1) {
      claimFor('a1', { inFlight: 480 });
      nowMs += 500;
    }
    expect(limitOf('a1')).toBeGreaterThan(480);
  });
});
