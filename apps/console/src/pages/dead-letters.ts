import { html } from '@remix-run/html-template';
import { DEAD_LETTER_REASONS, EVENT_TYPES } from '@postrider/domain';
import { DEAD_LETTERS_COUNTED_MAX } from '@postrider/store';
import type { FoundDeadLetter } from '@postrider/store';
import { writtenTime } from '../http/fields.ts';
import type { Visit } from '../http/serve-page.ts';
import { doneNote } from '../html/done.ts';
import { options } from '../html/form.ts';
import type { Page } from '../html/layout.ts';
import { queryOf } from '../html/links.ts';
import { pager } from '../html/list.ts';
import { endpointText, idCode, section, timeAgo } from '../html/pieces.ts';
import type { Html } from '../html/pieces.ts';
import { stackedTable } from '../html/table.ts';
import { count, counted } from '../html/words.ts';

interface ShownFilter {
  /** An account or a webhook, as the user wrote it. */
  readonly owner: string;
  readonly type?: string | undefined;
  readonly reason?: string | undefined;
  readonly status: string;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

export interface DeadLetterParts {
  readonly letters: readonly FoundDeadLetter[];
  readonly hasMore: boolean;
  readonly matching: number;
  readonly filter: ShownFilter;
  readonly isFirst: boolean;
}

export interface DeadLetterSettings {
  readonly deadLetterRetentionDays: number;
}

export function deadLettersPage(parts: DeadLetterParts, settings: DeadLetterSettings, visit: Visit): Page {
  const { letters, matching } = parts;
  const most = matching >= DEAD_LETTERS_COUNTED_MAX ? '+' : '';
  const heading =
    letters.length === 0
      ? { title: 'No matches' }
      : { title: `${count(matching)}${most} match`, more: inWords(parts.filter) };
  const main = html`<div class="head">
      <div>
        <h1>Dead letters</h1>
        <p class="lead">
          Postrider gave up on these deliveries. It keeps each one with its event for
          ${count(settings.deadLetterRetentionDays)} days.
        </p>
      </div>
    </div>
    ${doneNote(visit.done)} ${filterForm(parts.filter)}
    ${section('list', heading, html`<div class="card">${letters.length === 0 ? nothing() : letterList(parts, visit.now)}</div>`)}`;
  return { title: 'Dead letters', current: '/dead-letters', main };
}

function inWords({ owner, since, until }: ShownFilter): string {
  return [
    owner === '' ? 'all webhooks' : owner,
    ...(since === undefined ? [] : [`since ${writtenTime(since)}`]),
    ...(until === undefined ? [] : [`until ${writtenTime(until)}`]),
  ].join(', ');
}

function nothing(): Html {
  return html`<div class="empty">
    <b>No dead letter matches</b>
    <p>
      Every delivery that fits the filter arrived, is still being tried, or its dead letter was deleted by
      retention.
      <a href="/dead-letters">Show all</a>.
    </p>
  </div>`;
}

function filterForm({ owner, type, reason, status, since, until }: ShownFilter): Html {
  return html`<form class="card filters" action="/dead-letters" aria-label="Filter dead letters">
    <div class="fields">
      <div class="two">
        <label for="f-wh">Account or webhook</label>
        <input
          id="f-wh"
          name="webhook"
          value="${owner}"
          placeholder="Any id or account name"
          autocomplete="off"
        />
      </div>
      <div>
        <label for="f-type">Type</label>
        <select id="f-type" name="type">
          ${options('any', EVENT_TYPES, type)}
        </select>
      </div>
      <div>
        <label for="f-reason">Reason</label>
        <select id="f-reason" name="reason">
          ${options('any', DEAD_LETTER_REASONS, reason)}
        </select>
      </div>
      <div>
        <label for="f-status">Last status</label>
        <input
          id="f-status"
          name="status"
          value="${status}"
          placeholder="503, 5xx or none"
          autocomplete="off"
        />
      </div>
      <div>
        <label for="f-since">Since, UTC</label>
        <input
          id="f-since"
          name="since"
          value="${writtenTime(since)}"
          placeholder="2026-11-26 05:41"
          autocomplete="off"
        />
      </div>
      <div>
        <label for="f-until">Until, UTC</label>
        <input id="f-until" name="until" value="${writtenTime(until)}" placeholder="now" autocomplete="off" />
      </div>
      <div class="acts">
        <button class="btn">Show</button><a class="btn plain" href="/dead-letters">Clear</a>
      </div>
    </div>
  </form>`;
}

function letterList({ letters, hasMore, filter, isFirst }: DeadLetterParts, now: Date): Html {
  const rows = letters.map((letter) => [
    html`<a href="/events/${letter.eventId}">${letter.type}</a
      ><span class="sub">${idCode(letter.eventId)}</span>`,
    timeAgo(letter.createdAt, now),
    html`<a href="/webhooks/${letter.webhookId}"
        >${letter.endpoint === null ? letter.webhookId : endpointText(letter.endpoint)}</a
      ><span class="sub">${letter.accountName ?? letter.accountId}</span>`,
    html`<code class="term">${letter.reason}</code>`,
    count(letter.attempts),
    lastError(letter),
  ]);
  const table = stackedTable({
    caption: 'Dead letters that match, newest first',
    columns: [
      { label: 'Event' },
      { label: 'Given up' },
      { label: 'Webhook', isRoomy: true },
      { label: 'Reason' },
      { label: 'Attempts', isNumber: true },
      { label: 'Last error' },
    ],
    rows,
  });
  const last = letters.at(-1);
  const { owner, since, until, ...rest } = filter;
  const query = { ...rest, webhook: owner, since: writtenTime(since), until: writtenTime(until) };
  const older =
    hasMore && last !== undefined
      ? `/dead-letters${queryOf({ ...query, after: `${last.createdAt.getTime()}-${last.id}` })}`
      : null;
  const shown = counted(letters.length, 'dead letter');
  return html`${table} ${pager(isFirst ? `The newest ${shown}` : shown, older)}`;
}

function lastError({ lastError: error, statusCode }: FoundDeadLetter): Html {
  const status =
    statusCode === null || error === `HTTP ${statusCode}`
      ? null
      : html`<span class="sub">last status ${statusCode}</span>`;
  return html`<code>${error}</code>${status}`;
}
