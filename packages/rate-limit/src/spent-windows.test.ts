import { expect, test } from '@jest/globals';
import { SpentWindows } from './spent-windows.ts';

test('a spent window refuses what does not fit in it until it ends, and no other key', () => {
  let now = 1000;
  const windows = new SpentWindows(() => now);
  windows.add('a', { used: 58, endsAt: 2000 });
  expect(windows.refuses('a', 3, 60)).toBe(true);
  expect(windows.refuses('a', 2, 60)).toBe(false);
  expect(windows.refuses('a', 3, 61)).toBe(false);
  expect(windows.refuses('b', 100, 60)).toBe(false);
  expect([windows.left('a', 60), windows.left('b', 60)]).toEqual([2, 60]);
  now = 1999.9;
  expect(windows.refuses('a', 3, 60)).toBe(true);
  now = 2000;
  expect(windows.refuses('a', 100, 60)).toBe(false);
  expect(windows.left('a', 60)).toBe(60);
});

test('10,000 windows are kept, the newest', () => {
  const windows = new SpentWindows(() => 0);
  for (let n = 0; n < 10_001; n += 1) windows.add(`key ${n}`, { used: 60, endsAt: 1 });
  expect(windows.refuses('key 0', 1, 60)).toBe(false);
  expect(windows.refuses('key 1', 1, 60)).toBe(true);
  expect(windows.refuses('key 10000', 1, 60)).toBe(true);
});
