import { beforeEach, expect, test } from '@jest/globals';
import type { Attempt } from './attempt.ts';
import { inTurn } from './in-turn.ts';
import type { LoadedDelivery } from './load.ts';

const ATTEMPT = {} as Attempt;
const HOUR_MS = 3_600_000;
const ATTEMPT_MS = 60_000;

let steps: string[];
beforeEach(() => {
  steps = [];
});

function delivery(leaseMs: number): LoadedDelivery {
  return { leaseEndsAtMs: performance.now() + leaseMs } as LoadedDelivery;
}

function attempts(waits: boolean) {
  return inTurn(
    async () => {
      steps.push('attempt');
      return ATTEMPT;
    },
    {
      waitsForSpareTime: () => waits,
      attemptMs: ATTEMPT_MS,
      spareTime: async () => void steps.push('wait'),
      onLate: () => steps.push('late'),
    },
  );
}

test('an attempt that need not wait is made at once', async () => {
  expect(await attempts(false)(delivery(HOUR_MS))).toBe(ATTEMPT);
  expect(steps).toEqual(['attempt']);
});

test('another is made when it is its turn', async () => {
  expect(await attempts(true)(delivery(HOUR_MS))).toBe(ATTEMPT);
  expect(steps).toEqual(['wait', 'attempt']);
});

test('none is made that might outlast the lease: another worker may have been answered meanwhile', async () => {
  expect(await attempts(true)(delivery(ATTEMPT_MS - 1))).toBeNull();
  expect(steps).toEqual(['wait', 'late']);
});
