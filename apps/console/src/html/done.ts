import { html } from '@remix-run/html-template';
import type { FormResult } from '@postrider/store';
import type { Html } from './pieces.ts';

/** What the form that led to this page did. The first sentence is bold. */
export function doneNote(done: FormResult | null): Html | null {
  if (done === null) return null;
  const [, first = done.outcome, rest = ''] = /^(.*?\.)\s+(.*)$/s.exec(done.outcome) ?? [];
  const sign = first.startsWith('Nothing ') ? 'wait' : 'good';
  return html`<div class="note ${sign}" role="status">
    <p><b>${first}</b> ${rest}</p>
  </div>`;
}
