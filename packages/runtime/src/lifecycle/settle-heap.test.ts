import { expect, test } from '@jest/globals';
import { settleHeap } from './settle-heap.ts';

/** A separate function, so that no reference stays on the stack. */
function letGo(): WeakRef<object> {
  return new WeakRef({ garbage: true });
}

test('collects objects without references', async () => {
  const garbage = letGo();
  await new Promise(setImmediate); // a new WeakRef keeps its target until the end of the current task
  await settleHeap();
  expect(garbage.deref()).toBeUndefined();
});
