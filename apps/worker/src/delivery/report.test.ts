import { beforeEach, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { HealthBook } from './report.ts';

const WEBHOOK = 'wh_1' as WebhookId;

let book: HealthBook;
let nowMs: number;

beforeEach(() => {
  book = new HealthBook();
  nowMs = 0;
});

/** Notes an attempt that ends half a minute after the one before. */
function note(succeeded: boolean, storedFailing: boolean, webhookId = WEBHOOK): boolean | null {
  nowMs += 30_000;
  return book.note(webhookId, { succeeded, startedAtMs: nowMs - 10, endedAtMs: nowMs }, storedFailing);
}

test('an endpoint starts to fail with the fourth failure, and each later one repeats it until it is stored', () => {
  expect([1, 2, 3, 4, 5].map(() => note(false, false))).toEqual([null, null, null, true, true]);
  expect(note(false, true)).toBe(null);
});

test('a success ends the stored state, also in a process that knows nothing of the endpoint', () => {
  expect(note(true, true)).toBe(false);
  expect(note(true, false)).toBe(null);
});

test('the failures before a success do not count', () => {
  const changes = [false, false, false, true, false, false, false].map((succeeded) => note(succeeded, false));
  expect(changes).toEqual([null, null, null, null, null, null, null]);
  expect(note(false, false)).toBe(true);
});

test('each endpoint is judged by its own attempts', () => {
  for (let n = 0; n < 3; n += 1) note(false, false);
  expect(note(false, false, 'wh_2' as WebhookId)).toBe(null);
  expect(note(false, false)).toBe(true);
});

test('the number of endpoints is bounded: the one noted longest ago is forgotten first', () => {
  for (let n = 0; n < 3; n += 1) note(false, false);
  for (let n = 0; n < 50_000; n += 1) note(false, false, `wh_x${n}` as WebhookId);
  expect(note(false, false)).toBe(null); // would be the fourth, if the book remembered the three
});
