import { expect, test } from '@jest/globals';
import { describeWithRedis } from '@postrider/testing';
import { setupResults } from '../test/run-bench.ts';

describeWithRedis('a quick run', () => {
  const results = setupResults();

  test('measures received mail beside a bare smtp-server', async () => {
    const figures = await results.measure('inbound,inbound-latency');
    expect(figures).toMatchObject([
      { id: 'inbound', status: 'measured' },
      { id: 'inbound-latency', status: 'measured' },
    ]);
    const values = figures.flatMap((figure) => figure.values);
    for (const name of ['20 KB: messages', '5 MB: messages', 'end of DATA to 250, p50']) {
      const beside = values.filter(
        ({ name: one }) => one.endsWith(name) || one === `${name}, bare smtp-server`,
      );
      expect(beside).toHaveLength(2);
      for (const { measured } of beside) expect(measured.min).toBeGreaterThan(0);
    }
  }, 180_000);
});
