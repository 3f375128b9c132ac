import { expect, test } from '@jest/globals';
import { createGate } from '../test/gate.ts';
import { createSlots } from './slots.ts';

const RUNNING = new AbortController().signal;
const unbegun = async () => 'unbegun';

test('so much is done at a time, and what comes beyond begins in its order when a slot is free', async () => {
  const inSlot = createSlots(2, RUNNING);
  const begun: number[] = [];
  const gates = Array.from({ length: 5 }, createGate);
  const all = gates.map((gate, n) =>
    inSlot(async () => {
      begun.push(n);
      await gate.opened;
      return 'done';
    }, unbegun),
  );
  expect(begun).toEqual([0, 1]);
  gates[1]?.open();
  await all[1];
  await Promise.resolve();
  expect(begun).toEqual([0, 1, 2]);
  for (const gate of gates) gate.open();
  await Promise.all(all);
  expect(begun).toEqual([0, 1, 2, 3, 4]);
});

test('work that fails gives its slot back, and its fault to the caller', async () => {
  const inSlot = createSlots(1, RUNNING);
  await expect(inSlot(() => Promise.reject(new Error('no')), unbegun)).rejects.toThrow('no');
  expect(await inSlot(async () => 'done', unbegun)).toBe('done');
});

test('once it is stopped nothing begins, also not what waits; what is under way ends', async () => {
  const stopping = new AbortController();
  const inSlot = createSlots(1, stopping.signal);
  const gate = createGate();
  const begun: string[] = [];
  const work = (name: string) => async () => {
    begun.push(name);
    await gate.opened;
    return 'done';
  };
  const underWay = inSlot(work('under way'), unbegun);
  const waits = inSlot(work('waits'), unbegun);
  stopping.abort();
  expect(await waits).toBe('unbegun');
  gate.open();
  expect(await underWay).toBe('done');
  expect(await inSlot(work('late'), unbegun)).toBe('unbegun');
  expect(begun).toEqual(['under way']);
});
