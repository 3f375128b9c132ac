import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { restOf } from './stages.ts';

test('a throttled slot rests until the stop, if that comes first', async () => {
  const stopping = new AbortController();
  let isOver = false;
  const rest = restOf(3_600_000, stopping.signal).then(() => (isOver = true));
  await setImmediate();
  expect(isOver).toBe(false);
  stopping.abort();
  await rest;
  await restOf(3_600_000, stopping.signal); // after the stop no slot rests
  expect(isOver).toBe(true);
});
