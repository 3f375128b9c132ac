import { expect, test } from '@jest/globals';
import { settleHeap } from './settle-heap.ts';

/** In a function of its own: nothing on the stack keeps it. */
function letGo(): WeakRef<object> {
  return new WeakRef({ garbage: true });
}

test('what nobody keeps is gone afterwards', async () => {
  const garbage = letGo();
  await new Promise(setImmediate); // what a WeakRef was made of lives for as long as that turn
  await settleHeap();
  expect(garbage.deref()).toBeUndefined();
});
