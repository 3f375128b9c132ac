import { expect, test } from '@jest/globals';
import { ByteBudget } from './byte-budget.ts';

test('an owner may hold as many bytes as are still free, so one more owner always finds space', () => {
  const budget = new ByteBudget({ bytesMax: 160, smallBytes: 0 });
  const hold = (owner: string, bytes: number) => budget.open(owner).take(bytes);
  // 120 bytes are shared.
  expect([hold('a', 40), hold('a', 20), hold('a', 1)]).toEqual([true, true, false]);
  expect([hold('b', 61), hold('b', 30), hold('b', 1), hold('c', 15)]).toEqual([false, true, false, true]);
  expect([hold('c', 1), hold('d', 7)]).toEqual([false, true]);
});

test('a quarter is reserved for the first bytes of each holding', () => {
  const budget = new ByteBudget({ bytesMax: 160, smallBytes: 10 });
  const [one, two] = [budget.open('a'), budget.open('b')];
  expect([one.take(70), one.take(1), two.take(40), two.take(1)]).toEqual([true, false, true, false]);
  expect([budget.hasSpace('a', 10), budget.hasSpace('a', 11)]).toEqual([true, false]);
  const [third, fourth, fifth] = ['a', 'a', 'c'].map((owner) => budget.open(owner));
  expect([third?.take(10), third?.take(1), fourth?.take(10), fifth?.take(1)]).toEqual([
    true,
    false,
    false,
    true,
  ]);
});

test('however many holdings one owner has, the next owner finds reserved bytes', () => {
  const budget = new ByteBudget({ bytesMax: 160, smallBytes: 10 });
  const taken = Array.from({ length: 4 }, () => budget.open('a').take(10));
  expect(taken).toEqual([true, true, false, false]); // 40 bytes are reserved
  expect([budget.hasSpace('a', 1), budget.hasSpace('b', 10)]).toEqual([false, true]);
});

test('a released holding gives its bytes back once', () => {
  const budget = new ByteBudget({ bytesMax: 160, smallBytes: 10 });
  const [first, second] = [budget.open('a'), budget.open('a')];
  expect([first.take(50), second.take(30), second.take(1)]).toEqual([true, true, false]);
  first.release();
  first.release();
  expect([budget.hasSpace('b', 111), budget.hasSpace('b', 110)]).toEqual([false, true]);
  expect([second.take(40), second.take(1)]).toEqual([true, false]);
});
