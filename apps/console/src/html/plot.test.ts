import { describe, expect, test } from '@jest/globals';
import type { AttemptDay, AttemptHour } from '@postrider/store';
import { countPlot, failurePlot, hourAxis, latencyPlot, successRate } from './plot.ts';
import { latency, percent, writtenTime } from './words.ts';

const hour = (n: number, sum: Partial<AttemptHour> = {}): AttemptHour => ({
  beginsAt: new Date(Date.UTC(2026, 10, 25, 8 + n)),
  attempts: 0,
  successes: 0,
  p95Ms: null,
  ...sum,
});
/** A day of four hours is enough for a plot. */
const dayOf = (hours: readonly AttemptHour[]): AttemptDay => ({
  attempts: hours.reduce((sum, { attempts }) => sum + attempts, 0),
  successes: hours.reduce((sum, { successes }) => sum + successes, 0),
  p95Ms: null,
  hours,
});
const barsOf = (plot: unknown) =>
  [
    ...String(plot).matchAll(
      /class="(ok|no)"\s+x="([\d.]+)"\s+y="([\d.]+)"\s+width="\d+"\s+height="([\d.]+)"/g,
    ),
  ].map(([, kind, x, y, height]) => [kind, Number(x), Number(y), Number(height)]);
const pathOf = (plot: unknown) => /class="curve"\s+d="([^"]*)"/.exec(String(plot))?.[1];
const labelOf = (plot: unknown) => /aria-label="([^"]*)"/.exec(String(plot))?.[1];

describe('the plot of failures', () => {
  test('has the share of each hour from the bottom, and nothing where there was no attempt', () => {
    const day = dayOf([
      hour(0, { attempts: 100, successes: 100 }),
      hour(1),
      hour(2, { attempts: 100, successes: 25 }),
      hour(3, { attempts: 4, successes: 0 }),
    ]);
    expect(barsOf(failurePlot(day, 'spark'))).toEqual([
      ['ok', 0, 0, 24],
      ['ok', 60, 0, 6],
      ['no', 60, 6, 18],
      ['ok', 90, 0, 0],
      ['no', 90, 0, 24],
    ]);
    expect(labelOf(failurePlot(day, 'spark'))).toBe(
      'Failed attempts by hour, 24 h: 61.2 % of 204 succeeded; most failed in the hour from 11:00: 100 %',
    );
  });

  test('draws a share of 0.5 % and no smaller one', () => {
    const day = dayOf([
      hour(0, { attempts: 1000, successes: 996 }),
      hour(1, { attempts: 1000, successes: 995 }),
    ]);
    expect(barsOf(failurePlot(day, 'spark')).filter(([kind]) => kind === 'no')).toEqual([['no', 60, 23, 1]]);
  });

  test('of a day without attempts says so', () => {
    expect(successRate(dayOf([hour(0)]))).toBe('none');
    expect(labelOf(failurePlot(dayOf([hour(0)]), 'wide'))).toBe('Attempts by hour, 24 h: none');
  });
});

describe('the plot of p95', () => {
  test('has a point for each hour with attempts; its top is above the highest', () => {
    const day = dayOf([hour(0, { p95Ms: 100 }), hour(1), hour(2, { p95Ms: 50 }), hour(3, { p95Ms: 100 })]);
    // The median is 100, so the top is 200.
    expect(pathOf(latencyPlot(day, 'spark'))).toBe('M0 12L0 12L80 18L120 12');
    expect(labelOf(latencyPlot(day, 'spark'))).toBe('p95 by hour, 24 h: latest 100 ms, highest 100 ms');
  });

  test('of a single hour is a short line, and of none says so', () => {
    expect(pathOf(latencyPlot(dayOf([hour(0), hour(1, { p95Ms: 10 })]), 'spark'))).toBe('M116 12L120 12');
    expect(labelOf(latencyPlot(dayOf([hour(0)]), 'spark'))).toBe('p95 by hour, 24 h: none');
  });
});

test('a plot of numbers is as high as the largest, and its axis names three hours', () => {
  const plot = countPlot([0, 44, 88], 'Numbers');
  expect(barsOf(plot)).toEqual([
    ['no', 160, 44, 44],
    ['no', 320, 0, 88],
  ]);
  const hours = [hour(0), hour(1), hour(2), hour(23)];
  const axis = String(hourAxis(hours, new Date('2026-11-26T07:12:40Z')));
  expect([...axis.matchAll(/<span>([^<]*)</g)].map(([, words]) => words)).toEqual([
    '25 Nov 08:00',
    '10:00',
    '07:00',
  ]);
});

test('figures are rounded so that they promise nothing', () => {
  expect([percent(9999, 10_000), percent(1, 1), percent(683, 1000), percent(0, 5)]).toEqual([
    '99.9 %',
    '100 %',
    '68.3 %',
    '0 %',
  ]);
  expect([latency(212), latency(9_999), latency(10_000)]).toEqual(['212 ms', '9,999 ms', '10.0 s']);
});

test.each([
  ['2026-11-26T05:41:00Z', '2026-11-26 05:41'],
  ['2026-11-26T05:00:00Z', '2026-11-26 05:00'],
  ['2026-11-26T05:41:12Z', '2026-11-26 05:41:12'],
  ['2026-11-26T05:41:00.093Z', '2026-11-26 05:41:00.093'],
])('the time %s is written as %s', (at, written) => {
  expect(writtenTime(new Date(at))).toBe(written);
});
