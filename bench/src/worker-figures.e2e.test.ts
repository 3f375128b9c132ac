import { expect, test } from '@jest/globals';
import { describeWithRedis, usableCores } from '@postrider/testing';
import { setupResults } from '../test/run-bench.ts';

describeWithRedis('a quick run', () => {
  const results = setupResults();

  test('measures one worker on a core of its own, and mail through a slow provider beside bare nodemailer', async () => {
    const figures = await results.measure('worker-ceiling,slow-provider');
    const checks = figures.map(({ id, checks: of }) => [id, of.length]);
    expect(checks).toEqual([
      ...(usableCores().length > 2 ? [['worker-ceiling', 1]] : []),
      ['slow-provider', 4],
    ]);
    for (const { measured } of figures.flatMap(({ values }) => values)) {
      expect(measured.min).toBeGreaterThan(0);
    }
  }, 180_000);
});
