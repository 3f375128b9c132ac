import { expect, test } from '@jest/globals';
import { createRandom } from './random.ts';

const CHOICES = ['a', 'b', 'c', 'd', 'e'];

test.each([1, 2, 4, 5])(
  '%i of five are picked, each once and in their order, in time all of them',
  (count) => {
    const seen = new Set<string>();
    for (let seed = 0; seed < 100; seed += 1) {
      const some = createRandom(seed).some(CHOICES, count);
      expect(some).toHaveLength(count);
      expect(some).toEqual(CHOICES.filter((choice) => some.includes(choice)));
      for (const choice of some) seen.add(choice);
    }
    expect([...seen].sort()).toEqual(CHOICES);
  },
);
