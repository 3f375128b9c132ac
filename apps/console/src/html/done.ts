import { html } from '@remix-run/html-template';
import type { FormResult } from '@postrider/store';
import type { Html } from './pieces.ts';

/**
 * Says what the form before this page did. The first sentence is bold. If it begins with `Nothing` or `Not`,
 * the form was refused.
 */
export function doneNote(done: FormResult | null): Html | null {
  if (done === null) return null;
  const [, first = done.outcome, rest = ''] = /^(.*?\.)\s+(.*)$/s.exec(done.outcome) ?? [];
  const sign = /^(?:Nothing|Not) /.test(first) ? 'wait' : 'good';
  return html`<div class="note ${sign}" role="status">
    <p><b>${first}</b> ${rest}</p>
  </div>`;
}
