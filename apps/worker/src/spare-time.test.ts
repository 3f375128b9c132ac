import { expect, test } from '@jest/globals';
import { createSpareTime } from './spare-time.ts';

/** The event loop is busy until it has rested so often since the last one was let through. */
function loopThatNeeds(restsNeeded: number) {
  let rested = 0;
  return {
    rests: 0,
    meter: {
      busyShare: () => (rested < restsNeeded ? 0.51 : 0.5),
      reset() {
        rested = 0;
      },
    },
    async rest() {
      rested += 1;
      this.rests += 1;
    },
  };
}

async function letThrough(count: number, loop: ReturnType<typeof loopThatNeeds>): Promise<number[]> {
  const spareTime = createSpareTime({ meter: loop.meter, rest: () => loop.rest() });
  const restsBefore: number[] = [];
  await Promise.all(
    Array.from({ length: count }, async (_, n) => {
      await spareTime('a');
      restsBefore[n] = loop.rests;
    }),
  );
  return restsBefore;
}

test('work goes at once while the event loop is idle for half of the time', async () => {
  expect(await letThrough(3, loopThatNeeds(0))).toEqual([0, 0, 0]);
});

test('while it is not, each waits until it was since the one before, in the order of asking', async () => {
  expect(await letThrough(3, loopThatNeeds(4))).toEqual([4, 8, 12]);
});

test('an event loop that is never idle lets one through after ten rests', async () => {
  expect(await letThrough(3, loopThatNeeds(Infinity))).toEqual([10, 20, 30]);
});

test.each([
  { names: ['a', 'a', 'a'], before: [4, 8, 12] },
  { names: ['a', 'b', 'a', 'b'], before: [2, 4, 6, 10] },
  { names: ['a', 'b', 'c', 'd', 'e'], before: [1, 2, 4, 6, 10] },
])('everybody has a turn every so often: $names', async ({ names, before }) => {
  const loop = loopThatNeeds(Infinity);
  const spareTime = createSpareTime({ meter: loop.meter, rest: () => loop.rest(), everyMs: 4 });
  const restsBefore: number[] = [];
  await Promise.all(
    names.map(async (name, n) => {
      await spareTime(name);
      restsBefore[n] = loop.rests;
    }),
  );
  expect(restsBefore).toEqual(before);
});

test('the real event loop lets a burst through, and lets others have their turn in between', async () => {
  const spareTime = createSpareTime();
  const seen: string[] = [];
  const timer = setInterval(() => void seen.push('other'), 1);
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      await spareTime('a');
      seen.push('work');
      for (const until = performance.now() + 5; performance.now() < until;); // holds the event loop
    }),
  );
  clearInterval(timer);
  expect(seen.filter((who) => who === 'work')).toHaveLength(20);
  expect(seen.join(' ')).not.toContain('work work');
});
