import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { FairByteBudget } from './fair-byte-budget.ts';
import { KeyedQueue } from './keyed-queue.ts';

/* Owners are networks of clients, for example. A process meets any number of them, and most only once. */

const OWNERS = 20_000;
/** An owner that is kept takes over 100 bytes. */
const NOISE_BYTES = 1_000_000;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

const queue = new KeyedQueue({ perKey: 1, total: 10 });
const budget = new FairByteBudget({ bytesMax: 100, bytesUncounted: 0 });

test.each([
  ['slots', (owner: string) => queue.join(owner, 1).release()],
  [
    'bytes',
    (owner: string) => {
      const body = budget.open(owner);
      void body.take(1);
      body.release();
    },
  ],
])('of owners that have given their %s back nothing is kept', (_, meet) => {
  meet('first');
  const before = heapBytes();
  for (let n = 0; n < OWNERS; n += 1) meet(`owner ${n}`);
  expect(heapBytes() - before).toBeLessThan(NOISE_BYTES);
});
