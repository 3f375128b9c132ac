import { expect, test } from '@jest/globals';
import { KeyedQueue } from './keyed-queue.ts';
import type { Slot } from './keyed-queue.ts';

/** A queue with small limits, and the names of the granted slots in order. */
function queueOf(perKey: number, total: number) {
  const queue = new KeyedQueue({ perKey, total });
  const names: string[] = [];
  return {
    join: (name: string, key: string, size: number): Slot => {
      const slot = queue.join(key, size);
      if (slot.granted === null) names.push(name);
      else void slot.granted.then(() => names.push(name));
      return slot;
    },
    granted: async (): Promise<string> => {
      await new Promise((resolve) => setImmediate(resolve)); // lets the resolved promises run
      return names.join(' ');
    },
  };
}

test('each key has at most two slots, and a released slot goes to the next; other keys do not wait', async () => {
  const { join, granted } = queueOf(2, 100);
  const [first, second] = [join('a1', 'a', 1), join('a2', 'a', 1)];
  join('a3', 'a', 1);
  join('a4', 'a', 1);
  join('b1', 'b', 1);
  expect(await granted()).toBe('a1 a2 b1');
  second.release();
  expect(await granted()).toBe('a1 a2 b1 a3');
  first.release();
  expect(await granted()).toBe('a1 a2 b1 a3 a4');
});

test('a free slot is granted at once, without a promise', () => {
  const queue = new KeyedQueue({ perKey: 1, total: 100 });
  expect(queue.join('a', 1).granted).toBeNull();
  expect(queue.join('a', 1).granted).toBeInstanceOf(Promise);
});

test('the sizes stay within the total, and no slot passes one that waits for the total', async () => {
  const { join, granted } = queueOf(10, 100);
  const [large, small] = [join('large', 'a', 70), join('small', 'b', 30)];
  join('larger', 'c', 100);
  join('tiny', 'd', 1);
  expect(await granted()).toBe('large small');
  large.release();
  expect(await granted()).toBe('large small');
  small.release();
  expect(await granted()).toBe('large small larger');
});

test('a slot that waits for its key delays no other key, whatever its size', async () => {
  const { join, granted } = queueOf(1, 100);
  join('a1', 'a', 10);
  join('a2', 'a', 100);
  join('b1', 'b', 90);
  expect(await granted()).toBe('a1 b1');
});

test('keys take turns, however many slots one of them waits for; the slots of a key come in order', async () => {
  const { join, granted } = queueOf(1, 1);
  const names = ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2'];
  const slots = new Map(names.map((name) => [name, join(name, name.slice(0, 1), 1)]));
  for (let served = 1; served < names.length; served += 1) {
    slots.get((await granted()).slice(-2))?.release();
  }
  expect(await granted()).toBe('a1 a2 b1 c1 a3 b2 a4');
});

test('a slot that leaves the queue is never granted, and the next ones move up', async () => {
  const { join, granted } = queueOf(1, 100);
  const first = join('a1', 'a', 60);
  const impatient = join('a2', 'a', 60);
  const large = join('b1', 'b', 60);
  join('c1', 'c', 40);
  expect(await granted()).toBe('a1');
  large.release();
  expect(await granted()).toBe('a1 c1');
  impatient.release();
  first.release();
  expect(await granted()).toBe('a1 c1');
});

test('a second release has no effect', async () => {
  const { join, granted } = queueOf(1, 100);
  const first = join('a1', 'a', 100);
  first.release();
  first.release();
  join('a2', 'a', 100);
  join('a3', 'a', 1);
  join('b1', 'b', 1);
  expect(await granted()).toBe('a1 a2');
});

test('a slot that shrinks while it waits takes nothing of the total, and frees nothing', async () => {
  const { join, granted } = queueOf(1, 10);
  const held = join('a1', 'a', 10);
  join('a2', 'a', 10).shrink();
  join('b1', 'b', 10);
  expect(await granted()).toBe('a1');
  held.release();
  expect(await granted()).toBe('a1 a2 b1');
});

test('a slot that shrinks leaves the total to others, and keeps its key', async () => {
  const { join, granted } = queueOf(1, 10);
  const held = join('a1', 'a', 10);
  join('a2', 'a', 1);
  join('b1', 'b', 10);
  expect(await granted()).toBe('a1');
  held.shrink();
  expect(await granted()).toBe('a1 b1');
  held.release();
  expect(await granted()).toBe('a1 b1');
});
