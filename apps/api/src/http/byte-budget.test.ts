import { expect, test } from '@jest/globals';
import { createByteBudget } from './byte-budget.ts';

/** A small budget, and which bodies wait for room. */
function budgetOf(bytesMax: number, bytesFree = 0) {
  const budget = createByteBudget({ bytesMax, bytesFree });
  const names = new Set<string>();
  return {
    open: (name: string, owner: string) => {
      const share = budget.open(owner);
      return {
        ...share,
        /** @returns whether more may be read at once. */
        take(bytes: number): boolean {
          const room = share.take(bytes);
          if (room === null) return true;
          names.add(name);
          void room.then(() => names.delete(name));
          return false;
        },
      };
    },
    waiting: async (): Promise<string> => {
      await new Promise((resolve) => setImmediate(resolve)); // every promise that is to be kept has been
      return [...names].join(' ');
    },
  };
}

test('a body that has not begun to arrive takes nothing', () => {
  const { open } = budgetOf(100);
  for (let n = 0; n < 50; n += 1) open(`idle ${n}`, 'a');
  expect(open('large', 'b').take(50)).toBe(true);
});

test('an owner may have as much as is left free, so that there is room for one more', async () => {
  const { open, waiting } = budgetOf(120);
  expect([open('a1', 'a').take(40), open('a2', 'a').take(20)]).toEqual([true, true]);
  open('first', 'a').take(1); // goes on in spite of it
  open('a3', 'a').take(1);
  expect([open('b1', 'b').take(30), open('c1', 'c').take(15)]).toEqual([true, true]);
  open('c2', 'c').take(1);
  expect(await waiting()).toBe('a3 c2');
});

test('of those that find no room one goes on to its end; then the next', async () => {
  const { open, waiting } = budgetOf(100);
  const bodies = ['a', 'b', 'c'].map((owner) => open(owner, owner));
  for (const body of bodies) body.take(25);
  for (const body of bodies) body.take(60);
  expect(await waiting()).toBe('b c');
  expect(bodies[0]?.take(1_000)).toBe(true);
  bodies[0]?.leave();
  expect(await waiting()).toBe('c');
  bodies[1]?.leave();
  expect(await waiting()).toBe('');
});

test('room that is given back goes to those that wait, in their order', async () => {
  const { open, waiting } = budgetOf(100);
  const held = open('held', 'a');
  held.take(50);
  const [first] = [open('first', 'b'), open('second', 'c'), open('third', 'd')].map((body) => {
    body.take(60);
    return body;
  });
  expect(await waiting()).toBe('second third');
  held.leave();
  expect(await waiting()).toBe('third');
  first?.leave();
  expect(await waiting()).toBe('');
});

test('the first bytes of a body are free, also where there is no room', () => {
  const { open } = budgetOf(10, 5);
  open('first', 'a').take(500);
  open('large', 'b').take(500);
  const small = open('small', 'b');
  expect([small.take(3), small.take(2), small.take(11)]).toEqual([true, true, false]);
});

test('one that leaves while it waits is let go on by nobody, and gives back once', async () => {
  const { open, waiting } = budgetOf(100);
  const [held, first, gone] = [open('held', 'a'), open('first', 'a'), open('gone', 'a')];
  held.take(50);
  for (const body of [first, gone]) body.take(20);
  gone.leave();
  gone.leave();
  expect(await waiting()).toBe('gone');
  held.leave();
  held.leave();
  expect([open('b', 'b').take(50), open('c', 'c').take(25), open('d', 'd').take(26)]).toEqual([
    true,
    true,
    false,
  ]);
});
