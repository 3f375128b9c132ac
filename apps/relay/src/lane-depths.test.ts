import { beforeEach, describe, expect, test } from '@jest/globals';
import { QueueUnavailableError } from '@postrider/queue';
import type { QueueDepth, Producer } from '@postrider/queue';
import { LaneDepthTracker } from './lane-depths.ts';

const NOTHING: QueueDepth = { waiting: 0, delayed: 0 };
const NOW = { delayMs: 0 };
const LATER = { delayMs: 30_000 };

/** The queue's answer. */
let held: Awaited<ReturnType<Producer['depth']>>;
/** Number of questions to the queue. */
let asked: number;
let nowMs: number;
let depths: LaneDepthTracker;

beforeEach(() => {
  held = { fast: NOTHING, slow: NOTHING, mail: NOTHING };
  asked = 0;
  nowMs = 1_000;
  const depth = async () => {
    asked += 1;
    return held;
  };
  depths = new LaneDepthTracker({ depth }, () => nowMs);
});

const BOTH = ['fast', 'slow'] as const;
const now = () => depths.read(BOTH, 4);

describe('while few wait', () => {
  test('the queue is asked once a second, and added jobs are counted in between', async () => {
    await now();
    depths.noteAdded('fast', [NOW, NOW, LATER]);
    depths.noteAdded('slow', [LATER]);
    expect(await now()).toEqual({
      fast: { waiting: 2, delayed: 1 },
      slow: { waiting: 0, delayed: 1 },
    });
    expect(asked).toBe(1);
  });

  test('jobs that workers took are noticed within a second', async () => {
    await now();
    depths.noteAdded('fast', [NOW]);
    nowMs += 999;
    expect(await now()).toMatchObject({ fast: { waiting: 1 } });
    nowMs += 1;
    expect(await now()).toMatchObject({ fast: NOTHING });
    expect(asked).toBe(2);
  });

  test('many delayed jobs are no reason to ask', async () => {
    held = { ...held, slow: { waiting: 0, delayed: 2_000 } };
    await now();
    depths.noteAdded('slow', [LATER]);
    expect(await now()).toMatchObject({ slow: { delayed: 2_001 } });
    expect(asked).toBe(1);
  });

  test('many jobs in another lane are no reason to ask', async () => {
    held = { ...held, slow: { waiting: 128, delayed: 0 } };
    await now();
    await depths.read(['fast'], 4);
    await depths.read([], 0);
    expect(asked).toBe(1);
  });
});

describe('the queue is asked each time', () => {
  test.each([
    ['many jobs wait in the fast lane', { fast: { waiting: 5, delayed: 0 } }],
    ['many jobs wait in the slow lane', { slow: { waiting: 5, delayed: 0 } }],
  ])('while %s', async (_, more) => {
    held = { ...held, ...more };
    await now();
    held = { ...held, fast: { waiting: 7, delayed: 0 } };
    expect(await now()).toMatchObject({ fast: { waiting: 7 } });
    expect(asked).toBe(2);
  });

  test('after many jobs were added', async () => {
    await now();
    depths.noteAdded('fast', [NOW, NOW, NOW, NOW, NOW]);
    expect(await now()).toMatchObject({ fast: NOTHING });
  });

  test('after a call to it has failed', async () => {
    await now();
    depths.forget();
    depths.noteAdded('fast', [NOW]); // by a call that began before
    expect(await now()).toMatchObject({ fast: NOTHING });
    expect(asked).toBe(2);
  });
});

describe('while the queue is being asked', () => {
  test('concurrent reads share the answer', async () => {
    const both = await Promise.all([now(), now()]);
    expect([both[0] === both[1], asked]).toEqual([true, 1]);
  });

  test('added jobs count on top of the answer', async () => {
    const answer = now();
    depths.noteAdded('fast', [NOW, LATER]);
    expect(await answer).toMatchObject({ fast: { waiting: 1, delayed: 1 } });
    expect(await now()).toMatchObject({ fast: { waiting: 1, delayed: 1 } });
    expect(asked).toBe(1);
  });

  test('a failed call invalidates the answer', async () => {
    const answer = now();
    depths.forget();
    expect(await answer).toMatchObject({ fast: NOTHING });
    await now();
    expect(asked).toBe(2);
  });
});

test('an unavailable queue is an error for the caller', async () => {
  const depth = () => Promise.reject(new QueueUnavailableError(new Error('gone')));
  const away = new LaneDepthTracker({ depth }, () => nowMs);
  await expect(away.read(BOTH, 4)).rejects.toThrow(QueueUnavailableError);
});
