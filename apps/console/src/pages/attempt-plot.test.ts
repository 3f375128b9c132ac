import { expect, test } from '@jest/globals';
import type { StoryWebhook } from '@postrider/store';
import { attemptPlot } from './attempt-plot.ts';

const BEGIN_MS = Date.parse('2026-11-26T07:00:00Z');
const at = (minute: number) => new Date(BEGIN_MS + minute * 60_000);
const attempt = (minute: number) => ({ startedAt: at(minute), statusCode: 500, error: null });

/** The horizontal positions of the marks for replays and for the next attempt. */
function marksOf(replayMinute: number, nextMinute: number | null): number[] {
  const webhook = {
    deliveries: [[attempt(0), attempt(1), attempt(2)]],
    replays: [{ at: at(replayMinute) }],
    nextAttemptAt: nextMinute === null ? null : at(nextMinute),
  } as unknown as StoryWebhook;
  const plot = String(attemptPlot(webhook, at(3)));
  const marks = plot.matchAll(/class="mark-(?:hand" d="M|next" cx=")([\d.]+)/g);
  return [...marks].map(([, x]) => Number(x));
}

test.each([
  ['its next attempt is due', null, [630.5]],
  ['an earlier next attempt', 5, [630.5, 320]],
  ['a later next attempt', 20, [318.5, 632]],
])('a replay after the last attempt is inside the plot, with %s', (_, nextMinute, marks) => {
  expect(marksOf(10, nextMinute)).toEqual(marks);
});
