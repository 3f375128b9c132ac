import { describe, expect, test } from '@jest/globals';
import type { StoryWebhook } from '@postrider/store';
import { attemptPlot } from './attempt-plot.ts';

const BEGIN_MS = Date.parse('2026-11-26T07:00:00Z');
const at = (minute: number) => new Date(BEGIN_MS + minute * 60_000);
const attempt = (minute: number, statusCode = 500) => ({ startedAt: at(minute), statusCode, error: null });

/** The plot of a webhook as of minute 3. */
function plotOf(webhook: {
  attempts?: readonly ReturnType<typeof attempt>[];
  replayMinute?: number;
  nextMinute?: number | null;
}): string {
  const { attempts = [attempt(0), attempt(1), attempt(2)], replayMinute, nextMinute = null } = webhook;
  const given = {
    attemptsByDelivery: [attempts],
    replays: replayMinute === undefined ? [] : [{ at: at(replayMinute) }],
    nextAttemptAt: nextMinute === null ? null : at(nextMinute),
  } as unknown as StoryWebhook;
  return String(attemptPlot(given, at(3)));
}

describe('the plot of attempts', () => {
  test.each([
    ['its next attempt is due', null, [630.5]],
    ['an earlier next attempt', 5, [630.5, 320]],
    ['a later next attempt', 20, [318.5, 632]],
  ])('has a replay after the last attempt inside it, with %s', (_, nextMinute, expected) => {
    const marks = plotOf({ replayMinute: 10, nextMinute }).matchAll(
      /class="mark-(?:hand" d="M|next" cx=")([\d.]+)/g,
    );
    expect([...marks].map(([, x]) => Number(x))).toEqual(expected);
  });

  test('names the days, which the clock times alone do not', () => {
    const plot = plotOf({ attempts: [attempt(0), attempt(1), attempt(24 * 60 - 5)], nextMinute: 24 * 60 });
    expect([...plot.matchAll(/<span>([^<]*)</g)].map(([, words]) => words)).toEqual([
      '26 Nov 07:00',
      '27 Nov 07:00',
    ]);
    expect(plot).toContain('3 attempts from 26 Nov 07:00, 3 failed, and the next at 27 Nov 07:00');
  });

  test('draws a success as another shape than a failure', () => {
    const plot = plotOf({ attempts: [attempt(0), attempt(1), attempt(2, 200)] });
    expect(plot.match(/<(\w+)\s+class="mark-(?:good|bad)"/g)).toEqual([
      '<path class="mark-bad"',
      '<path class="mark-bad"',
      '<circle class="mark-good"',
    ]);
  });
});
