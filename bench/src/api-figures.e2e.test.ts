import { expect, test } from '@jest/globals';
import { describeWithRedis } from '@postrider/testing';
import { setupResults } from '../test/run-bench.ts';
import { API_LAYERS } from './load/api-layers.ts';

describeWithRedis('a quick run', () => {
  const results = setupResults();

  test('tells the CPU of each layer around Express, and names why a dear one is there', async () => {
    const figures = await results.measure('api-layers');
    expect(figures).toMatchObject([{ id: 'api-layers', status: 'measured' }]);
    expect(figures[0]?.checks).toHaveLength(1);
    expect(figures[0]?.tables[0]?.rows.map(([name]) => name)).toEqual(API_LAYERS.map(({ name }) => name));
    for (const { measured } of figures[0]?.values ?? []) expect(measured.min).toBeGreaterThan(0);
  }, 180_000);
});
