import { beforeEach, describe, expect, test } from '@jest/globals';
import { inMemoryQueue } from '../test/in-memory-queue.ts';
import type { InMemoryQueue } from '../test/in-memory-queue.ts';
import { QueueDepths } from './queue-depths.ts';

let queue: InMemoryQueue;
let asked: number;
let depths: QueueDepths;

beforeEach(() => {
  queue = inMemoryQueue();
  asked = 0;
  depths = new QueueDepths({
    depth: async () => {
      asked += 1;
      return queue.depth();
    },
  });
});

const due = (count: number) => Array.from({ length: count }, () => ({ delayMs: 0 }));

describe('a lane', () => {
  test('takes nothing before the queue was asked', async () => {
    expect([depths.free('fast'), depths.freeForDelayed()]).toEqual([0, 0]);
    await depths.refresh(['fast']);
    expect([depths.free('fast'), depths.freeForDelayed()]).toEqual([128, 1_000]);
  });

  test('takes 128 waiting jobs, and is refilled when no more than 64 wait', async () => {
    await depths.refresh(['fast', 'slow']);
    depths.noteAdded('fast', due(64));
    expect([depths.free('fast'), depths.free('slow')]).toEqual([64, 128]);
    depths.noteAdded('fast', due(1));
    expect([depths.free('fast'), depths.free('slow')]).toEqual([0, 128]);
  });

  test('shares 2,000 delayed jobs with the other', async () => {
    await depths.refresh(['fast', 'slow']);
    depths.noteAdded('slow', [...due(3), { delayMs: 5 }, { delayMs: 5 }]);
    expect([depths.free('slow'), depths.freeForDelayed()]).toEqual([125, 999]);
    queue.fill('fast', 'delayed', 2_100);
    depths.forget();
    await depths.refresh(['fast']);
    expect(depths.freeForDelayed()).toBe(0);
  });
});

describe('the queue', () => {
  test('is asked once, while the lanes in use have room', async () => {
    for (let n = 0; n < 3; n += 1) {
      await depths.refresh(['fast']);
      depths.noteAdded('fast', due(20));
    }
    depths.noteAdded('slow', due(128)); // not in use
    await depths.refresh(['fast']);
    expect(asked).toBe(1);
  });

  test('is asked each time while a lane seems full, and shows what workers took', async () => {
    queue.fill('fast', 'waiting', 65);
    for (let n = 0; n < 3; n += 1) await depths.refresh(['fast']);
    expect([asked, depths.free('fast')]).toEqual([3, 0]);
    queue.fill('fast', 'waiting', 10);
    await depths.refresh(['fast']);
    expect(depths.free('fast')).toBe(118);
  });

  test('is asked again after a call to it failed', async () => {
    await depths.refresh(['fast']);
    depths.forget();
    expect(depths.free('fast')).toBe(0);
    await depths.refresh(['fast']);
    expect(asked).toBe(2);
  });

  test('that is unavailable is an error for the caller', async () => {
    queue.fail('depth');
    await expect(depths.refresh(['fast'])).rejects.toThrow('the test makes it fail');
  });
});
