import { describe, expect, test } from '@jest/globals';
import type { Figure, Fixture } from './figure.ts';
import { checkOf } from './result/result.ts';
import { runFigures } from './run-figures.ts';

const REACHED = { checks: [checkOf('a', '×', [1], { atMost: 1 })], values: [], tables: [], plots: [] };

function figure(id: string, run: Figure['run'], limitSeconds = 60): Figure {
  return { id, title: id, group: 'load', how: 'By hand.', limitSeconds, run };
}

function run(figures: Figure[], limitSeconds = 60) {
  const closed: string[] = [];
  const said: string[] = [];
  const results = runFigures(figures, {
    forFigure: ({ id }) =>
      ({ close: async () => void closed.push(id) }) as unknown as Fixture & { close(): Promise<void> },
    limitSeconds,
    limitFactor: 1,
    say: (line) => said.push(line),
  });
  return { results, closed, said };
}

test('figures are measured in order, each on its own fixture, which is closed after it', async () => {
  const order: string[] = [];
  const one = (id: string) => figure(id, async () => (order.push(id), REACHED));
  const { results, closed } = run([one('first'), one('second')]);
  expect((await results).map(({ id, status }) => [id, status])).toEqual([
    ['first', 'measured'],
    ['second', 'measured'],
  ]);
  expect([order, closed]).toEqual([
    ['first', 'second'],
    ['first', 'second'],
  ]);
});

describe('a figure that cannot be measured', () => {
  test('says why, and the next is measured all the same', async () => {
    const { results, closed, said } = run([
      figure('broken', async () => {
        throw new Error('no receiver\nat some line');
      }),
      figure('well', async () => REACHED),
    ]);
    expect(await results).toMatchObject([
      { status: 'not measured', reason: 'no receiver', checks: [] },
      { status: 'measured', reason: null },
    ]);
    expect(closed).toEqual(['broken', 'well']);
    expect(said).toContain('broken: NOT MEASURED: no receiver');
  });

  test('is given up after its time, and its fixture is closed', async () => {
    const { results, closed } = run([figure('endless', () => new Promise(() => undefined), 0.05)]);
    expect(await results).toMatchObject([{ status: 'not measured', reason: 'not done after 00:00' }]);
    expect(closed).toEqual(['endless']);
  });

  test('is not begun when the time of the run is over', async () => {
    let begun = false;
    const { results } = run(
      [
        figure('endless', () => new Promise(() => undefined)),
        figure('late', async () => ((begun = true), REACHED)),
      ],
      0.05,
    );
    expect(await results).toMatchObject([
      { reason: 'not done after 00:00' },
      { reason: 'the time of the whole run was over' },
    ]);
    expect(begun).toBe(false);
  });
});
