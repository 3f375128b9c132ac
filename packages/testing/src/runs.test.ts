import { afterEach, expect, test } from '@jest/globals';
import { setEnvironment } from './process-environment.ts';
import { runs } from './runs.ts';

let restore = (): void => undefined;
afterEach(() => restore());

test.each([
  [undefined, 100],
  ['', 100],
  ['0', 100],
  ['1', 5_000],
])('TEST_LONG=%s: %d runs', (value, count) => {
  restore = setEnvironment({ TEST_LONG: value });
  expect(runs({ usual: 100, long: 5_000 })).toBe(count);
});
