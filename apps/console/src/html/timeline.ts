import { html } from '@remix-run/html-template';
import { timeOfDay } from './pieces.ts';
import type { Html, Part } from './pieces.ts';
import { day, gap } from './words.ts';

/** The kind of a step's mark. `hand`: a person or a key acted. Empty: a mark without a colour. */
export type StepSign = 'good' | 'bad' | 'wait' | 'hand' | '';

export interface Step {
  readonly at: Date;
  readonly sign: StepSign;
  /** A large mark: a series of attempts begins or ends here. */
  readonly isEnd?: boolean;
  /** The time since the step before. Null: not shown. `withGaps` sets it where it is absent. */
  readonly afterMs?: number | null;
  readonly content: Part;
  /** True: `content` has its own container. */
  readonly isWhole?: boolean;
}

/** Sets `afterMs` of each step that has none. The first step gets none. */
export function withGaps(steps: readonly Step[]): Step[] {
  return steps.map((step, index) => {
    const before = steps[index - 1];
    return before === undefined ? step : { afterMs: step.at.getTime() - before.at.getTime(), ...step };
  });
}

/** The steps of a story, the oldest first. The first step of each day, in UTC, has its date. */
export function timeline(steps: readonly Step[]): Html {
  return html`<ol class="line">
    ${steps.map(({ at, sign, isEnd = false, afterMs = null, content, isWhole = false }, index) => {
      const before = steps[index - 1];
      const date =
        before !== undefined && day(before.at) === day(at)
          ? null
          : html`<span class="date">${day(at)}</span>`;
      const since =
        afterMs === null
          ? null
          : html`<span class="gap"><span class="vh">after </span>+${gap(afterMs)}</span>`;
      return html`<li class="${sign}${isEnd ? ' end' : ''}">
        <div class="at">${date}${since}${timeOfDay(at)}</div>
        ${isWhole ? content : html`<div class="what">${content}</div>`}
      </li>`;
    })}
  </ol>`;
}
