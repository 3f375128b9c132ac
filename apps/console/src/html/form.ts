import { html } from '@remix-run/html-template';
import type { Html } from './pieces.ts';

/** The options of a `select`. @param any the word for no choice */
export function options(any: string, values: readonly string[], chosen: string | undefined): Html {
  const choices = values.map((value) =>
    value === chosen ? html`<option selected>${value}</option>` : html`<option>${value}</option>`,
  );
  return html`<option value="">${any}</option>
    ${choices}`;
}
