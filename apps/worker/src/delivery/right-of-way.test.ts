import { beforeEach, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { createRightOfWay } from './right-of-way.ts';

const OURS = 'wh_ours' as WebhookId;
const ANOTHER = 'wh_another' as WebhookId;
const THIRD = 'wh_third' as WebhookId;

let now: number;
let taken: ReturnType<typeof createRightOfWay>;

beforeEach(() => {
  now = 0;
  taken = createRightOfWay(() => now);
});

function givesWay({
  lateMs,
  attemptsMade = 0,
  webhookId = OURS,
}: Partial<Parameters<typeof taken>[0]>): boolean {
  return taken({ lateMs: lateMs ?? 0, attemptsMade, webhookId });
}

function seeFresh(webhookId: WebhookId): void {
  expect(givesWay({ webhookId })).toBe(false);
}

test('what is late lets the fresh go first', () => {
  seeFresh(ANOTHER);
  expect(givesWay({ lateMs: 500 })).toBe(false);
  expect(givesWay({ lateMs: 501 })).toBe(true);
});

test('a retry lets the fresh go first, and is no company for what is late', () => {
  expect(givesWay({ attemptsMade: 1, webhookId: ANOTHER })).toBe(false);
  expect(givesWay({ lateMs: 60_000 })).toBe(false);
  seeFresh(ANOTHER);
  expect(givesWay({ attemptsMade: 1 })).toBe(true);
});

test('among late ones only nobody waits, nor two seconds after the last fresh one', () => {
  expect(givesWay({ lateMs: 60_000 })).toBe(false);
  seeFresh(ANOTHER);
  now = 1_999;
  expect(givesWay({ lateMs: 60_000 })).toBe(true);
  now = 2_000;
  expect(givesWay({ lateMs: 60_000 })).toBe(false);
});

test("a webhook's own fresh ones are no company: what is late of a burst goes on as it began", () => {
  seeFresh(OURS);
  expect(givesWay({ lateMs: 501 })).toBe(false);
  expect(givesWay({ lateMs: 501, webhookId: ANOTHER })).toBe(true);
});

test('fresh ones of its own do not hide those of another', () => {
  seeFresh(ANOTHER);
  now = 1_000;
  seeFresh(OURS);
  seeFresh(OURS);
  expect(givesWay({ lateMs: 501 })).toBe(true);
  now = 2_000;
  expect(givesWay({ lateMs: 501 })).toBe(false);
  seeFresh(THIRD);
  seeFresh(OURS);
  expect(givesWay({ lateMs: 501 })).toBe(true);
});
