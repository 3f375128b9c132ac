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

test('10,000 windows are kept, the last that were charged', () => {
  const windows = new SpentWindows(() => 0);
  const charge = (key: string) => windows.add(key, { used: 60, endsAt: 1 });
  for (let n = 0; n < 10_000; n += 1) charge(`key ${n}`);
  for (const key of ['key 0', 'key 10000']) charge(key);
  expect(windows.refuses('key 0', 1, 60)).toBe(true);
  expect(windows.refuses('key 1', 1, 60)).toBe(false);
  expect(windows.refuses('key 2', 1, 60)).toBe(true);
  expect(windows.refuses('key 10000', 1, 60)).toBe(true);
});
