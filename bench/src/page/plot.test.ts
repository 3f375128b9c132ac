import { describe, expect, test } from '@jest/globals';
import type { Plot } from '../result/result.ts';
import { plotSvg } from './plot.ts';

const text = { id: 'p', title: 'Drain', xLabel: 'workers', yLabel: 'deliveries per second' };
const bars: Plot = {
  ...text,
  kind: 'bars',
  stacked: true,
  categories: ['bare got', 'Postrider'],
  series: [
    { name: 'worker', values: [0, 500] },
    { name: 'receiver', values: [100, 120] },
  ],
};
const lines: Plot = {
  ...text,
  kind: 'lines',
  logarithmic: true,
  series: [
    {
      name: 'p',
      points: [
        [1, 0],
        [50, 8],
        [99, 40],
      ],
    },
  ],
};

describe.each([
  ['bars', bars],
  ['lines', lines],
])('a plot of %s', (_, plot) => {
  const svg = plotSvg(plot);

  test('is one SVG document that fetches nothing and runs nothing', () => {
    expect(svg).toMatch(/^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
    expect(svg).not.toMatch(/<script|<style|href=|url\(http|NaN/);
  });

  test('names its axes and what it shows', () => {
    for (const words of ['Drain', 'workers', 'deliveries per second'])
      expect(svg).toContain(`>${words}</text>`);
  });

  test('leaves the background to the reader’s page, and writes in a tone for light and dark', () => {
    expect(svg).not.toMatch(/<rect[^>]*fill="(#fff|white)/);
    expect(svg).not.toMatch(/<text[^>]*fill="#(000|333|fff)/);
  });
});

test('categories and series are named', () => {
  const svg = plotSvg(bars);
  for (const words of ['bare got', 'Postrider', 'worker', 'receiver'])
    expect(svg).toContain(`>${words}</text>`);
});

test('nothing is drawn where a logarithm has no value', () => {
  expect(
    plotSvg({
      ...lines,
      series: [
        {
          name: 'p',
          points: [
            [1, 0],
            [2, 0],
          ],
        },
      ],
    }),
  ).not.toContain('NaN');
});
