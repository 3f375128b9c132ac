import { html } from '@remix-run/html-template';
import { timeOfDay } from './pieces.ts';
import type { Html, Part } from './pieces.ts';
import { gap } from './words.ts';

export type StepSign = 'good' | 'bad' | 'wait' | 'hand' | '';

export interface Step {
  readonly at: Date;
  readonly sign: StepSign;
  /** Ends a part of the story. */
  readonly isEnd?: boolean;
  /** The time since the step before. Null: not shown. */
  readonly afterMs?: number | null;
  readonly content: Part;
  /** True: `content` has its own container. */
  readonly isWhole?: boolean;
}

/** The steps of a story, the oldest first. */
export function timeline(steps: readonly Step[]): Html {
  return html`<ol class="line">
    ${steps.map(({ at, sign, isEnd = false, afterMs = null, content, isWhole = false }) => {
      const since =
        afterMs === null
          ? null
          : html`<span class="gap"><span class="vh">after </span>+${gap(afterMs)}</span>`;
      return html`<li class="${sign}${isEnd ? ' end' : ''}">
        <div class="at">${since}${timeOfDay(at, 'milliseconds')}</div>
        ${isWhole ? content : html`<div class="what">${content}</div>`}
      </li>`;
    })}
  </ol>`;
}
