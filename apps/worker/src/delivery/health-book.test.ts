import { beforeEach, expect, test } from '@jest/globals';
import type { WebhookId } from '@postrider/domain';
import { HealthBook } from './health-book.ts';

const WEBHOOK = 'wh_1' as WebhookId;

let book: HealthBook;
/** The state in the database. The test stores each change that the book reports. */
let written: boolean;

beforeEach(() => {
  book = new HealthBook();
  written = false;
});

function note(well: boolean, from: HealthBook = book): boolean | null {
  const change = from.note(WEBHOOK, well, written);
  if (change !== null) written = change;
  return change;
}

function times<T>(count: number, work: () => T): T[] {
  return Array.from({ length: count }, work);
}

test('an endpoint fails after four failures in a row, and recovers after five successes', () => {
  expect(times(4, () => note(false))).toEqual([null, null, null, true]);
  expect(times(5, () => note(true))).toEqual([null, null, null, null, false]);
});

test('one failure in a hundred does not make it fail; one success does not make it recover', () => {
  expect(times(300, () => note(true)).concat(times(3, () => note(false)))).not.toContain(true);
  times(50, () => note(false));
  expect(written).toBe(true);
  expect([note(true), note(false), note(true)]).toEqual([null, null, null]);
});

test('an endpoint stored as failing starts as failing in a new process', () => {
  written = true;
  expect(times(5, () => note(true)).at(-1)).toBe(null);
  expect(times(2, () => note(true))).toContain(false);
});

test('a delivery taken before a change was stored does not undo it', () => {
  times(4, () => note(false));
  expect(written).toBe(true);
  expect(book.note(WEBHOOK, false, false)).toBe(true); // the same change again
  expect(book.note(WEBHOOK, true, false)).toBe(null);
});

test('two workers do not undo each other’s changes', () => {
  const other = new HealthBook();
  times(6, () => note(false, book));
  times(12, () => note(true, other));
  expect(written).toBe(false);
  const changes = times(12, () => [note(true, book), note(true, other)]).flat();
  expect(changes.filter((change) => change !== null)).toEqual([]);
  expect(written).toBe(false);
});

test('the number of endpoints is bounded: the one noted longest ago is forgotten first', () => {
  times(3, () => note(false));
  for (let n = 0; n < 50_000; n += 1) book.note(`wh_x${n}` as WebhookId, false, false);
  expect(note(false)).toBe(null); // would be the fourth, if the book remembered the three
});
