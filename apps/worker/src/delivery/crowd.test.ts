import { beforeEach, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { createCrowd } from './crowd.ts';
import type { Crowd } from './crowd.ts';

const [FLOOD, QUIET] = ['wh_flood', 'wh_quiet'] as [WebhookId, WebhookId];

let now: number;
let crowd: Crowd;

beforeEach(() => {
  now = 0;
  crowd = createCrowd(() => now);
});

function enter(webhookId: WebhookId, count: number): (() => void)[] {
  return Array.from({ length: count }, () => crowd.enter(webhookId));
}

test('a webhook with many attempts under way crowds others out', () => {
  enter(FLOOD, 16);
  enter(QUIET, 1);
  expect(crowd.isCrowding(FLOOD)).toBe(false);
  enter(FLOOD, 1);
  expect([crowd.isCrowding(FLOOD), crowd.isCrowding(QUIET)]).toEqual([true, false]);
});

test('alone it crowds nobody, nor two seconds after the last of the others', () => {
  enter(FLOOD, 17);
  expect(crowd.isCrowding(FLOOD)).toBe(false);
  enter(QUIET, 1);
  now = 1_999;
  expect(crowd.isCrowding(FLOOD)).toBe(true);
  enter(FLOOD, 1);
  now += 2_000;
  expect(crowd.isCrowding(FLOOD)).toBe(false);
});

test('nor once its attempts have ended', () => {
  const leave = enter(FLOOD, 17);
  enter(QUIET, 1);
  leave[0]?.();
  expect(crowd.isCrowding(FLOOD)).toBe(false);
});

test('one that has less than half as many as another waits itself, whatever has gathered', () => {
  enter(FLOOD, 48);
  enter(QUIET, 23);
  expect([crowd.isCrowding(FLOOD), crowd.isCrowding(QUIET)]).toEqual([true, false]);
  enter(QUIET, 1);
  expect([crowd.isCrowding(FLOOD), crowd.isCrowding(QUIET)]).toEqual([true, true]);
});
