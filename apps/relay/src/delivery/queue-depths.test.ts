import { beforeEach, describe, expect, test } from '@jest/globals';
import { LANES } from '@postrider/queue';
import type { QueueKey } from '@postrider/queue';
import { inMemoryQueue } from '../../test/in-memory-queue.ts';
import type { InMemoryQueue } from '../../test/in-memory-queue.ts';
import { createQueueDepths } from './queue-depths.ts';
import type { QueueDepths } from './queue-depths.ts';

const DELAYED_MAX = 2_000;

let queue: InMemoryQueue;
let asked: QueueKey[];
let depths: QueueDepths;

beforeEach(() => {
  queue = inMemoryQueue();
  asked = [];
  const noting: typeof queue.depthOf = async (key) => {
    asked.push(key);
    return queue.depthOf(key);
  };
  depths = createQueueDepths({ depthOf: noting }, LANES, DELAYED_MAX);
});

const due = (count: number) => Array.from({ length: count }, () => ({ delayMs: 0 }));

describe('a lane', () => {
  test('takes nothing before the queue was asked', async () => {
    expect([depths.rowsMax('fast'), depths.delayedRowsMax()]).toEqual([0, 0]);
    await depths.refresh(['fast']);
    expect([depths.rowsMax('fast'), depths.delayedRowsMax()]).toEqual([128, 1_000]);
  });

  test('takes 128 waiting jobs', async () => {
    await depths.refresh(LANES);
    depths.noteAdded('fast', due(100));
    expect([depths.rowsMax('fast'), depths.rowsMax('slow')]).toEqual([28, 128]);
    depths.noteAdded('fast', due(30));
    expect([depths.rowsMax('fast'), depths.rowsMax('slow')]).toEqual([0, 128]);
  });

  test('takes 128 waiting jobs for each worker of the fleet, if it is the fast one', async () => {
    let workers = 1;
    const ofFleet = createQueueDepths(queue, LANES, DELAYED_MAX, () => workers * 768);
    await ofFleet.refresh(LANES);
    expect(ofFleet.rowsMax('fast')).toBe(128);
    workers = 10;
    ofFleet.noteAdded('fast', due(100));
    expect([ofFleet.rowsMax('fast'), ofFleet.rowsMax('slow')]).toEqual([1_180, 128]);
  });

  test('shares 2,000 delayed jobs with the other', async () => {
    await depths.refresh(LANES);
    depths.noteAdded('slow', [...due(3), { delayMs: 5 }, { delayMs: 5 }]);
    expect([depths.rowsMax('slow'), depths.delayedRowsMax()]).toEqual([125, 999]);
    queue.fill('fast', 'delayed', 2_100);
    depths.forget();
    await depths.refresh(['fast']);
    expect(depths.delayedRowsMax()).toBe(0);
    queue.fill('fast', 'delayed', 0); // they became waiting, and workers took them
    await depths.refresh(['slow']);
    expect(depths.delayedRowsMax()).toBe(1_000);
  });
});

describe('a queue', () => {
  test('is asked once, while it has room or is not in use', async () => {
    for (let n = 0; n < 3; n += 1) {
      await depths.refresh(['fast']);
      depths.noteAdded('fast', due(20));
    }
    depths.noteAdded('slow', due(128)); // not in use
    await depths.refresh(['fast']);
    expect(asked).toEqual(['fast', 'slow']);
  });

  test('is asked each time while it seems full, without the other, and shows what workers took', async () => {
    await depths.refresh(LANES);
    asked = [];
    depths.noteAdded('fast', due(130));
    queue.fill('fast', 'waiting', 130);
    for (let n = 0; n < 3; n += 1) await depths.refresh(LANES);
    expect([asked, depths.rowsMax('fast')]).toEqual([['fast', 'fast', 'fast'], 0]);
    queue.fill('fast', 'waiting', 10);
    await depths.refresh(['fast']);
    expect(depths.rowsMax('fast')).toBe(118);
  });

  test('is asked again after a call to it failed', async () => {
    await depths.refresh(['fast']);
    depths.forget();
    expect(depths.rowsMax('fast')).toBe(0);
    await depths.refresh(['fast']);
    expect(asked).toEqual(['fast', 'slow', 'fast', 'slow']);
  });

  test('that is unavailable is an error for the caller', async () => {
    queue.fail('depth');
    await expect(depths.refresh(['fast'])).rejects.toThrow('the test makes it fail');
  });
});
