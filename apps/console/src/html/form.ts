import { html } from '@remix-run/html-template';
import type { Html } from './pieces.ts';
import { TIME_EXAMPLES, writtenTime } from './words.ts';

/** A list to choose from. @param any the text of the first option, which chooses no value */
export function choiceField(
  id: string,
  {
    name,
    label,
    values,
    chosen,
    any = 'any',
  }: { name: string; label: string; values: readonly string[]; chosen: string | undefined; any?: string },
): Html {
  const choices = values.map((value) =>
    value === chosen ? html`<option selected>${value}</option>` : html`<option>${value}</option>`,
  );
  return html`<div>
    <label for="${id}">${label}</label>
    <select id="${id}" name="${name}">
      <option value="">${any}</option>
      ${choices}
    </select>
  </div>`;
}

/** The field of an account or a webhook: `webhook` takes both. @param value as the user wrote it */
export function ownerField(
  id: string,
  { value, isRequired = false }: { readonly value: string; readonly isRequired?: boolean },
): Html {
  return html`<div class="two">
    <label for="${id}">Account or webhook</label>
    <input
      id="${id}"
      name="webhook"
      value="${value}"
      placeholder="Id or account name"
      ${isRequired ? html`required` : null}
      autocomplete="off"
    />
  </div>`;
}

/** The field of a time. @param id is the field's name, with a prefix that is unique on the page */
export function timeField(
  id: string,
  {
    name,
    label,
    value,
    placeholder,
  }: { name: string; label: string; value?: Date | undefined; placeholder: string },
): Html {
  return html`<div>
    <label for="${id}">${label}, UTC</label>
    <input
      id="${id}"
      name="${name}"
      value="${writtenTime(value)}"
      placeholder="${placeholder}"
      autocomplete="off"
      aria-describedby="time-hint"
    />
  </div>`;
}

/** Stands below the fields of a form with times. A page has one such hint. */
export const timeHint = html`<p class="hint" id="time-hint">Times are in UTC, such as ${TIME_EXAMPLES}.</p>`;

/** The fields of a time range. @param prefix of their ids */
export function rangeFields(
  prefix: string,
  { since, until }: { readonly since?: Date | undefined; readonly until?: Date | undefined },
): Html {
  return html`${timeField(`${prefix}-since`, {
    name: 'since',
    label: 'Since',
    value: since,
    placeholder: '2026-11-26 05:41',
  })}
  ${timeField(`${prefix}-until`, { name: 'until', label: 'Until', value: until, placeholder: 'now' })}`;
}
