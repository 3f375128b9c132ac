import { expect, test } from '@jest/globals';
import { createGate } from '../test/gate.ts';
import { createSlots } from './slots.ts';

test('so much is done at a time, and what comes beyond begins in its order when a slot is free', async () => {
  const inSlot = createSlots(2);
  const begun: number[] = [];
  const gates = Array.from({ length: 5 }, createGate);
  const all = gates.map((gate, n) =>
    inSlot(async () => {
      begun.push(n);
      await gate.opened;
    }),
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
  const inSlot = createSlots(1);
  await expect(inSlot(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await inSlot(async () => 'done')).toBe('done');
});
