import { expect, test } from '@jest/globals';
import { FairByteBudget } from './fair-byte-budget.ts';

/** A small budget, and the names of the waiting bodies. */
function budgetOf(bytesMax: number, bytesUncounted = 0) {
  const budget = new FairByteBudget({ bytesMax, bytesUncounted });
  const names = new Set<string>();
  return {
    open: (name: string, owner: string) => {
      const body = budget.open(owner);
      return {
        ...body,
        /** @returns whether the body may continue at once. */
        take(bytes: number): boolean {
          const resumed = body.take(bytes);
          if (resumed === null) return true;
          names.add(name);
          void resumed.then(() => names.delete(name));
          return false;
        },
      };
    },
    waiting: async (): Promise<string> => {
      await new Promise((resolve) => setImmediate(resolve)); // lets the resolved promises run
      return [...names].join(' ');
    },
  };
}

test('a body takes nothing before its first byte', () => {
  const { open } = budgetOf(100);
  for (let n = 0; n < 50; n += 1) open(`idle ${n}`, 'a');
  expect(open('large', 'b').take(50)).toBe(true);
});

test('an owner may hold as many bytes as are still free, so one more owner always finds space', async () => {
  const { open, waiting } = budgetOf(120);
  expect([open('a1', 'a').take(40), open('a2', 'a').take(20)]).toEqual([true, true]);
  open('first', 'a').take(1); // exceeds the budget
  open('a3', 'a').take(1);
  expect([open('b1', 'b').take(30), open('c1', 'c').take(15)]).toEqual([true, true]);
  open('c2', 'c').take(1);
  expect(await waiting()).toBe('a3 c2');
});

test('bytes that cannot wait are counted only when they fit', async () => {
  const { open, waiting } = budgetOf(100);
  const [first, second] = [open('first', 'a'), open('second', 'a')];
  expect([first.takeNow(40), second.takeNow(30), second.takeNow(20)]).toEqual([true, false, true]);
  second.release();
  expect(open('other', 'b').takeNow(30)).toBe(true);
  first.release();
  expect(open('third', 'a').takeNow(32)).toBe(true);
  expect(await waiting()).toBe('');
});

test('one of the bodies without space continues to its end; then the next one', async () => {
  const { open, waiting } = budgetOf(100);
  const bodies = ['a', 'b', 'c'].map((owner) => open(owner, owner));
  for (const body of bodies) body.take(25);
  for (const body of bodies) body.take(60);
  expect(await waiting()).toBe('b c');
  expect(bodies[0]?.take(1_000)).toBe(true);
  bodies[0]?.release();
  expect(await waiting()).toBe('c');
  bodies[1]?.release();
  expect(await waiting()).toBe('');
});

test('the body that continues in any case leaves the budget to the others', () => {
  const { open } = budgetOf(100);
  open('held', 'a').take(50);
  const exempt = open('exempt', 'b');
  expect([exempt.take(25), exempt.take(10)]).toEqual([true, false]);
  expect([open('other', 'c').take(50), exempt.take(1_000)]).toEqual([true, true]);
});

test('released bytes go to the waiting bodies in their order', async () => {
  const { open, waiting } = budgetOf(100);
  const held = open('held', 'a');
  held.take(50);
  const [first] = [open('first', 'b'), open('second', 'c'), open('third', 'd')].map((body) => {
    body.take(60);
    return body;
  });
  expect(await waiting()).toBe('second third');
  held.release();
  expect(await waiting()).toBe('third');
  first?.release();
  expect(await waiting()).toBe('');
});

test('the first bytes of a body are free, even in an exhausted budget', () => {
  const { open } = budgetOf(10, 5);
  open('first', 'a').take(500);
  open('large', 'b').take(500);
  const small = open('small', 'b');
  expect([small.take(3), small.take(2), small.take(11)]).toEqual([true, true, false]);
});

test('a body that is released while it waits never resumes, and gives its bytes back once', async () => {
  const { open, waiting } = budgetOf(100);
  const [held, first, gone] = [open('held', 'a'), open('first', 'a'), open('gone', 'a')];
  held.take(50);
  for (const body of [first, gone]) body.take(20);
  gone.release();
  gone.release();
  expect(await waiting()).toBe('gone');
  held.release();
  held.release();
  expect([open('b', 'b').take(50), open('c', 'c').take(25), open('d', 'd').take(26)]).toEqual([
    true,
    true,
    false,
  ]);
});

test('an owner whose bodies fill the budget does not keep the body of another waiting behind them', async () => {
  const { open, waiting } = budgetOf(100);
  const [held, exempt] = [open('a1', 'a'), open('a2', 'a')];
  expect([held.take(50), exempt.take(50)]).toEqual([true, false]);
  for (const name of ['a3', 'a4']) open(name, 'a').take(50);
  open('b1', 'b').take(60);
  expect(await waiting()).toBe('a3 a4 b1');
  exempt.release();
  expect(await waiting()).toBe('a3 a4');
});
