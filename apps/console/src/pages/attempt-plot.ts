import { html } from '@remix-run/html-template';
import type { StoryWebhook } from '@postrider/store';
import type { Html } from '../html/pieces.ts';
import { clockTime, counted } from '../html/words.ts';
import { isSuccess } from './attempt-steps.ts';

const WIDTH = 640;
const MARGIN = 8;

/** Draws the attempts of a webhook on a time line. Returns null for fewer than three attempts. */
export function attemptPlot({ deliveries, nextAttemptAt, replays }: StoryWebhook, now: Date): Html | null {
  const attempts = deliveries.flat();
  const [first] = attempts;
  if (first === undefined || attempts.length < 3) return null;
  const next = nextAttemptAt !== null && nextAttemptAt > now ? nextAttemptAt : null;
  const times = [...attempts.map(({ startedAt }) => startedAt), ...replays.map(({ at }) => at)];
  const last = new Date(Math.max(...times.map(Number), Number(next)));
  const spanMs = Math.max(1, last.getTime() - first.startedAt.getTime());
  const x = (at: Date) =>
    Math.round(MARGIN + ((at.getTime() - first.startedAt.getTime()) / spanMs) * (WIDTH - 2 * MARGIN));
  const marks = attempts.map((attempt) => {
    const at = x(attempt.startedAt);
    return html`<path class="${isSuccess(attempt) ? 'mark-good' : 'mark-bad'}" d="M${at} 3l5 5-5 5-5-5z" />`;
  });
  const replayMarks = replays.map(
    ({ at }) => html`<path class="mark-hand" d="M${x(at) - 1.5} 0h3v16h-3z" />`,
  );
  const failed = attempts.filter((attempt) => !isSuccess(attempt)).length;
  const label = `${counted(attempts.length, 'attempt')} from ${clockTime(first.startedAt, 'minutes')}, ${failed} failed${
    next === null ? '' : `, and the next at ${clockTime(next, 'minutes')}`
  }`;
  return html`<svg class="plot wide-plot" viewBox="0 0 ${WIDTH} 16" role="img" aria-label="${label}">
      <path class="base" d="M0 8H${WIDTH}" />
      ${marks} ${replayMarks}
      ${next === null ? null : html`<circle class="mark-next" cx="${x(next)}" cy="8" r="4.5" />`}
    </svg>
    <p class="axis">
      <span>${clockTime(first.startedAt, 'minutes')}</span><span>${clockTime(last, 'minutes')}</span>
    </p>`;
}
