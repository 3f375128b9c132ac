import { html } from '@remix-run/html-template';
import type { StoryWebhook } from '@postrider/store';
import type { Html } from '../html/pieces.ts';
import { counted, moment } from '../html/words.ts';
import { isSuccess } from './attempt-steps.ts';

const WIDTH = 640;
const MARGIN = 8;

/** Draws the attempts of a webhook on a time line. Returns null for fewer than three attempts. */
export function attemptPlot(
  { attemptsByDelivery, nextAttemptAt, replays }: StoryWebhook,
  now: Date,
): Html | null {
  const attempts = attemptsByDelivery.flat();
  const [first] = attempts;
  if (first === undefined || attempts.length < 3) return null;
  const next = nextAttemptAt !== null && nextAttemptAt > now ? nextAttemptAt : null;
  const times = [
    ...attempts.map(({ startedAt }) => startedAt),
    ...replays.map(({ at }) => at),
    ...(next === null ? [] : [next]),
  ];
  const last = new Date(Math.max(...times.map(Number)));
  const spanMs = Math.max(1, last.getTime() - first.startedAt.getTime());
  const x = (at: Date) =>
    Math.round(MARGIN + ((at.getTime() - first.startedAt.getTime()) / spanMs) * (WIDTH - 2 * MARGIN));
  const marks = attempts.map((attempt) => {
    const at = x(attempt.startedAt);
    return isSuccess(attempt)
      ? html`<circle class="mark-good" cx="${at}" cy="8" r="4.5" />`
      : html`<path class="mark-bad" d="M${at} 3l5 5-5 5-5-5z" />`;
  });
  const replayMarks = replays.map(
    ({ at }) => html`<path class="mark-hand" d="M${x(at) - 1.5} 0h3v16h-3z" />`,
  );
  const failed = attempts.filter((attempt) => !isSuccess(attempt)).length;
  const minute = (at: Date) => moment(at, now, 'minutes');
  const label = `${counted(attempts.length, 'attempt')} from ${minute(first.startedAt)}, ${failed} failed${
    next === null ? '' : `, and the next at ${minute(next)}`
  }`;
  return html`<svg class="plot wide-plot" viewBox="0 0 ${WIDTH} 16" role="img" aria-label="${label}">
      <path class="base" d="M0 8H${WIDTH}" />
      ${marks} ${replayMarks}
      ${next === null ? null : html`<circle class="mark-next" cx="${x(next)}" cy="8" r="4.5" />`}
    </svg>
    <p class="axis"><span>${minute(first.startedAt)}</span><span>${minute(last)}</span></p>`;
}
