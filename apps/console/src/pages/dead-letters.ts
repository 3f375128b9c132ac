import { html } from '@remix-run/html-template';
import { DEAD_LETTER_REASONS, EVENT_TYPES } from '@postrider/domain';
import { DEAD_LETTERS_COUNTED_MAX } from '@postrider/store';
import type { DeadLetterCount, FoundDeadLetter, FoundRecovery, ListPosition } from '@postrider/store';
import type { Visit } from '../http/serve-page.ts';
import { doneNote } from '../html/done.ts';
import { choiceField, ownerField, rangeFields, timeHint } from '../html/form.ts';
import type { Page } from '../html/layout.ts';
import { queryOf } from '../html/links.ts';
import { noneLookedAt, pager, positionText, shownOf } from '../html/list.ts';
import { empty, endpointText, head, idCode, section, timeAgo } from '../html/pieces.ts';
import type { Html, Part } from '../html/pieces.ts';
import { stackedTable } from '../html/table.ts';
import { count, counted, writtenTime } from '../html/words.ts';
import type { Settings } from '../settings.ts';
import { recoveryTable } from './recoveries.ts';

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
  /** The next page begins behind this dead letter. null: this is the last page. */
  readonly olderFrom: ListPosition | null;
  readonly matching: DeadLetterCount;
  readonly filter: ShownFilter;
  readonly isFirst: boolean;
  /** The newest recoveries of the webhook, or of all. Empty when the filter is an account. */
  readonly recoveries: readonly FoundRecovery[];
}

export function deadLettersPage(parts: DeadLetterParts, settings: Settings, visit: Visit): Page {
  const { letters, recoveries } = parts;
  const { found, isWhole } = parts.matching;
  const heading =
    letters.length === 0
      ? { title: parts.isFirst ? 'No matches' : 'No older matches' }
      : {
          // The count looks at the newest dead letters only. A later page may show older ones.
          title: `${count(Math.max(found, letters.length), !isWhole)} match`,
          more: inWords(parts.filter),
          side: recoverButton(parts, visit),
        };
  const lead = html`Postrider gave up on these deliveries. It keeps each one with its event for
  ${count(settings.deadLetterRetentionDays)} days.`;
  const main = html`${head('Dead letters', { lead })} ${doneNote(visit.done)} ${filterForm(parts.filter)}
  ${section('list', heading, html`<div class="card">${letters.length === 0 ? nothing(parts) : letterList(parts, visit.now)}</div>`)}
  ${recoveries.length === 0 ? null : recoveriesSection(recoveries, visit.now)}`;
  return { title: 'Dead letters', current: '/dead-letters', main };
}

/**
 * Leads to the dry run of a recovery of these dead letters. A recovery needs an account or a webhook, and has
 * no filter by status. So with other filters, it would send more than the list shows.
 */
function recoverButton({ filter }: DeadLetterParts, { mayAct }: Visit): Part {
  const { owner, type, reason, status, since, until } = filter;
  if (!mayAct) return '';
  if (owner === '' || status !== '') {
    return html`<p class="small soft">To recover, filter by account or webhook, and not by status</p>`;
  }
  const span = { since: writtenTime(since), until: writtenTime(until) };
  const href = `/recover${queryOf({ webhook: owner, only: 'dead_letters', types: type, reason, ...span })}`;
  return html`<a class="btn" href="${href}">Recover these…</a>`;
}

function recoveriesSection(recoveries: readonly FoundRecovery[], now: Date): Html {
  const side = html`<p class="small"><a href="/recoveries">All recoveries</a></p>`;
  return section(
    'recoveries',
    { title: 'Recoveries', side },
    html`<div class="card">${recoveryTable(recoveries, now)}</div>`,
  );
}

function inWords({ owner, since, until }: ShownFilter): string {
  return [
    owner === '' ? 'all webhooks' : owner,
    ...(since === undefined ? [] : [`since ${writtenTime(since)}`]),
    ...(until === undefined ? [] : [`until ${writtenTime(until)}`]),
  ].join(', ');
}

function nothing(parts: DeadLetterParts): Html {
  const older = olderPath(parts);
  if (older !== null) {
    return noneLookedAt(parts.isFirst, DEAD_LETTERS_COUNTED_MAX, { older, all: '/dead-letters' });
  }
  const showAll = html`<a href="/dead-letters">Show all</a>.`;
  if (!parts.isFirst) return empty('No older one matches', showAll);
  return empty(
    'No dead letter matches',
    html`Every delivery that fits the filter arrived, is still being tried, or its dead letter was deleted by
    retention. ${showAll}`,
  );
}

function filterForm({ owner, type, reason, status, since, until }: ShownFilter): Html {
  return html`<form class="card filters" action="/dead-letters" aria-label="Filter dead letters">
    <div class="fields">
      ${ownerField('f-wh', { value: owner })}
      ${choiceField('f-type', { name: 'type', label: 'Type', values: EVENT_TYPES, chosen: type })}
      ${choiceField('f-reason', { name: 'reason', label: 'Reason', values: DEAD_LETTER_REASONS, chosen: reason })}
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
      ${rangeFields('f', { since, until })}
      <div class="acts">
        <button class="btn">Show</button><a class="btn plain" href="/dead-letters">Clear</a>
      </div>
    </div>
    ${timeHint}
  </form>`;
}

function olderPath({ olderFrom, filter }: DeadLetterParts): string | null {
  if (olderFrom === null) return null;
  const { owner, since, until, ...rest } = filter;
  const query = { ...rest, webhook: owner, since: writtenTime(since), until: writtenTime(until) };
  return `/dead-letters${queryOf({ ...query, after: positionText(olderFrom) })}`;
}

function letterList(parts: DeadLetterParts, now: Date): Html {
  const { letters, isFirst } = parts;
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
      'Event',
      'Given up',
      { label: 'Webhook', isRoomy: true },
      'Reason',
      { label: 'Attempts', isNumber: true },
      'Last error',
    ],
    rows,
  });
  const shown = shownOf(isFirst, counted(letters.length, 'dead letter'));
  return html`${table} ${pager(shown, olderPath(parts))}`;
}

function lastError({ lastError: error, statusCode }: FoundDeadLetter): Html {
  const status =
    statusCode === null || error === `HTTP ${statusCode}`
      ? null
      : html`<span class="sub">last status ${statusCode}</span>`;
  return html`<code>${error}</code>${status}`;
}
