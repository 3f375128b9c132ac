import { expect, test } from '@jest/globals';
import { createSpareTime } from './spare-time.ts';

/** An event loop on which each rest takes so long; it is busy until it has rested so often since it let somebody through. */
function loopThatNeeds(restsNeeded: number, restMs = 1) {
  let rested = 0;
  return {
    nowMs: 0,
    meter: {
      busyShare: () => (rested < restsNeeded ? 0.51 : 0.5),
      reset() {
        rested = 0;
      },
    },
    async rest() {
      await new Promise(setImmediate); // whoever was let through before goes on first
      rested += 1;
      this.nowMs += restMs;
    },
  };
}

/** Asks in each of the names, in this order. @returns when each was let through, in the order in which they were. */
async function letThrough(
  names: readonly string[],
  loop: ReturnType<typeof loopThatNeeds>,
  everyMs = 10,
): Promise<string[]> {
  const { meter } = loop;
  const spareTime = createSpareTime({ everyMs, meter, rest: () => loop.rest(), nowMs: () => loop.nowMs });
  const through: string[] = [];
  await Promise.all(
    names.map(async (name) => {
      await spareTime(name);
      through.push([name, loop.nowMs].join(' '));
    }),
  );
  return through;
}

test('work goes at once while the event loop is idle for half of the time', async () => {
  expect(await letThrough(['a', 'a', 'b'], loopThatNeeds(0))).toEqual(['a 0', 'a 0', 'b 0']);
});

test('while it is not, each waits until it was since the one before, the names in turn', async () => {
  expect(await letThrough(['a', 'a', 'b'], loopThatNeeds(4))).toEqual(['a 4', 'b 8', 'a 12']);
});

test('on an event loop that is never idle each name has a turn every so often', async () => {
  const through = await letThrough(['a', 'a', 'a', 'b'], loopThatNeeds(Infinity), 3);
  expect(through).toEqual(['a 3', 'b 3', 'a 6', 'a 9']);
});

test('turns that were missed while the loop was held are made up for', async () => {
  const through = await letThrough(['a', 'a', 'a', 'a'], loopThatNeeds(Infinity, 5), 3);
  expect(through).toEqual(['a 5', 'a 10', 'a 10', 'a 15']);
});

test('turns that were missed long ago are not', async () => {
  const through = await letThrough(Array<string>(6).fill('a'), loopThatNeeds(Infinity, 100), 3);
  expect(through.slice(0, 4)).toEqual(['a 100', 'a 100', 'a 100', 'a 100']);
  expect(through.slice(4)).toEqual(['a 200', 'a 200']);
});

test('who asks again when nobody waits any more is let through like the first', async () => {
  const loop = loopThatNeeds(Infinity);
  const { meter } = loop;
  const spareTime = createSpareTime({
    everyMs: 3,
    meter,
    rest: () => loop.rest(),
    nowMs: () => loop.nowMs,
  });
  for (const at of [3, 6]) {
    await spareTime('a');
    expect(loop.nowMs).toBe(at);
  }
});

test('whose turn is due goes before a newcomer whose turn is not', async () => {
  const loop = loopThatNeeds(Infinity, 20);
  const { meter } = loop;
  const through: string[] = [];
  const asked: Promise<unknown>[] = [];
  const ask = (name: string): void => {
    asked.push(spareTime(name).then(() => through.push([name, loop.nowMs].join(' '))));
  };
  const rest = async (): Promise<void> => {
    await loop.rest();
    if (asked.length === 4) ask('b');
  };
  const spareTime = createSpareTime({ everyMs: 4, meter, rest, nowMs: () => loop.nowMs });
  for (let n = 0; n < 4; n += 1) ask('a');
  while (through.length < 5) await Promise.all(asked);
  expect(through).toEqual(['a 20', 'a 20', 'a 20', 'b 40', 'a 40']);
});

test('however many are due, the event loop does something else after every eight', async () => {
  const meter = { busyShare: () => 1, reset: () => undefined };
  const spareTime = createSpareTime({ everyMs: 1, meter });
  let turns = 0;
  let running = true;
  const count = (): void => {
    turns += 1;
    if (running) setImmediate(count);
  };
  setImmediate(count);
  const letThroughIn = new Map<number, number>();
  await Promise.all(
    Array.from({ length: 50 }, async (_, n) => {
      await spareTime(`name ${n}`);
      letThroughIn.set(turns, (letThroughIn.get(turns) ?? 0) + 1);
    }),
  );
  running = false;
  expect(Math.max(...letThroughIn.values())).toBe(8);
});
