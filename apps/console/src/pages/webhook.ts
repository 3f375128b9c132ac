import { html } from '@remix-run/html-template';
import { EVENT_TYPES } from '@postrider/domain';
import type { EventId } from '@postrider/domain';
import type {
  Account,
  EventSummary,
  OwnedWebhook,
  Page as ListPage,
  WebhookEvent,
  WebhookLoad,
} from '@postrider/store';
import { writtenTime } from '../http/fields.ts';
import type { Visit } from '../http/serve-page.ts';
import { queryOf } from '../html/links.ts';
import type { Page } from '../html/layout.ts';
import {
  crumbs,
  endpointName,
  facts,
  idCode,
  section,
  state,
  timeAgo,
  timeOfDay,
  wholeId,
} from '../html/pieces.ts';
import type { Html } from '../html/pieces.ts';
import { stackedTable } from '../html/table.ts';
import { ago, count, counted, day, duration, moment } from '../html/words.ts';
import { options } from '../html/form.ts';
import { counter } from './counter.ts';

export interface WebhookFilter {
  readonly type?: string | undefined;
  readonly status?: string | undefined;
  readonly recipient?: string | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

export interface WebhookParts {
  readonly webhook: OwnedWebhook;
  readonly account: Account | null;
  readonly load: WebhookLoad | undefined;
  readonly filter: WebhookFilter;
  readonly page: ListPage<WebhookEvent>;
  readonly summaries: ReadonlyMap<EventId, EventSummary>;
  /** False: the page is behind a cursor. */
  readonly isFirst: boolean;
}

export interface WebhookSettings {
  readonly deadLettersPerWebhookMax: number;
  readonly attemptRetentionDays: number;
}

export function webhookPage(parts: WebhookParts, settings: WebhookSettings, visit: Visit): Page {
  const { webhook, account } = parts;
  const { now } = visit;
  const [host = '', ...path] = endpointName(webhook.endpoint).split('/');
  const title = endpointName(webhook.endpoint);
  const rest = path.length === 0 ? '' : `/${path.join('/')}`;
  const main = html`${crumbs([{ href: `/accounts/${webhook.accountId}`, name: account?.name ?? webhook.accountId }], 'Webhook')}
    <div class="head">
      <div>
        <h1>${host}<wbr /><span class="soft">${rest}</span></h1>
        <p class="ids">
          ${webhook.failingSince === null ? state('good', 'not failing', 'pill') : state('bad', 'failing', 'pill')}
          ${wholeId(webhook.id, 'webhook id')}
        </p>
      </div>
    </div>
    ${failure(webhook, now)}
    <section class="card" aria-label="Facts">${webhookFacts(parts, settings, now)}</section>
    ${eventsSection(parts, settings, now)}`;
  return { title, main };
}

function failure({ failingSince }: OwnedWebhook, now: Date): Html | null {
  if (failingSince === null) return null;
  const seconds = (now.getTime() - failingSince.getTime()) / 1000;
  return html`<div class="note bad">
    <p><b>Failing since ${moment(failingSince, now)}, for ${duration(seconds)}.</b></p>
  </div>`;
}

function webhookFacts({ webhook, load }: WebhookParts, settings: WebhookSettings, now: Date): Html {
  const oldest = load?.oldestDueAt ?? null;
  const due =
    oldest === null
      ? null
      : html`<span class="rel">oldest due ${duration((now.getTime() - oldest.getTime()) / 1000)}</span>`;
  return facts([
    { term: 'Outstanding', value: html`${counter(load?.outstanding ?? 0)} ${due}` },
    {
      term: 'Dead letters',
      value: html`<a href="/dead-letters?webhook=${webhook.id}">${counter(load?.deadLetters ?? 0)}</a>
        <span class="rel">limit ${count(settings.deadLettersPerWebhookMax)}</span>`,
    },
    { term: 'Types', value: webhook.events.length === 0 ? 'all' : webhook.events.join(', ') },
    {
      term: 'Registered',
      value: html`${day(webhook.createdAt)} <span class="rel">${ago(webhook.createdAt, now)}</span>`,
    },
  ]);
}

const TABS = {
  All: undefined,
  Pending: 'pending',
  Retrying: 'attempting',
  Failed: 'failed',
  Delivered: 'success',
};

function eventsSection(parts: WebhookParts, settings: WebhookSettings, now: Date): Html {
  const { webhook, filter, page, isFirst } = parts;
  const path = `/webhooks/${webhook.id}`;
  const shown = { ...filter, since: writtenTime(filter.since), until: writtenTime(filter.until) };
  const tabs = html`<nav class="tabs" aria-label="Events by status">
    <ul>
      ${Object.entries(TABS).map(([name, status]) => {
        const href = `${path}${queryOf({ ...shown, status })}`;
        return status === filter.status
          ? html`<li><a href="${href}" aria-current="true">${name}</a></li>`
          : html`<li><a href="${href}">${name}</a></li>`;
      })}
    </ul>
  </nav>`;
  const last = page.entries.at(-1);
  const older =
    page.hasMore && last !== undefined
      ? html`<a class="btn slim" href="${path}${queryOf({ ...shown, after: last.id })}">Older</a>`
      : null;
  const list =
    page.entries.length === 0
      ? html`<div class="empty">
          <b>No event matches</b>
          <p>
            Nothing was recorded for this webhook that fits the filter, or it is older than its retention.
            <a href="${path}">Show all events</a>.
          </p>
        </div>`
      : eventTable(parts, settings, now);
  return section(
    'events',
    { title: 'Events', side: tabs },
    html`<div class="card">
      ${filterForm(path, filter)} ${list}
      <div class="pager">
        <span
          >${isFirst ? `The ${counted(page.entries.length, 'newest event')}` : counted(page.entries.length, 'event')}</span
        >
        ${older}
      </div>
    </div>`,
  );
}

function filterForm(path: string, filter: WebhookFilter): Html {
  const isOpen = [filter.type, filter.recipient, filter.since, filter.until].some(
    (value) => value !== undefined,
  );
  return html`<details class="filters" ${isOpen ? html`open` : null}>
    <summary class="more">Filter by type, recipient or time</summary>
    <form action="${path}">
      <input type="hidden" name="status" value="${filter.status ?? ''}" />
      <div class="fields">
        <div>
          <label for="f-type">Type</label>
          <select id="f-type" name="type">
            ${options('any', EVENT_TYPES, filter.type)}
          </select>
        </div>
        <div>
          <label for="f-rec">Recipient</label>
          <input id="f-rec" name="recipient" value="${filter.recipient ?? ''}" autocomplete="off" />
        </div>
        <div>
          <label for="f-since">Since, UTC</label>
          <input
            id="f-since"
            name="since"
            value="${writtenTime(filter.since)}"
            placeholder="2026-11-26 05:41"
          />
        </div>
        <div>
          <label for="f-until">Until, UTC</label>
          <input id="f-until" name="until" value="${writtenTime(filter.until)}" placeholder="now" />
        </div>
        <div class="acts"><button class="btn">Show</button></div>
      </div>
    </form>
  </details>`;
}

function eventTable({ page, summaries }: WebhookParts, settings: WebhookSettings, now: Date): Html {
  const rows = page.entries.map((event) => {
    const summary = summaries.get(event.id);
    return [
      html`<a href="/events/${event.id}">${event.type}</a><span class="sub">${idCode(event.id)}</span>`,
      timeAgo(event.createdAt, now),
      summary?.recipients.join(', ') ?? '',
      eventState(event),
      event.delivery === 'unknown' ? html`<span class="soft">unknown</span>` : count(event.attempts),
      lastResult(event, summary, settings),
    ];
  });
  return stackedTable({
    caption: 'Events for this webhook, newest first',
    columns: [
      { label: 'Event' },
      { label: 'Recorded' },
      { label: 'Recipient' },
      { label: 'State' },
      { label: 'Attempts', isNumber: true },
      { label: 'Last result' },
    ],
    rows,
  });
}

function eventState({ delivery, status }: WebhookEvent): Html {
  switch (delivery) {
    case 'queued':
      return state('wait', status === 'pending' ? 'waiting' : 'retrying');
    case 'delivered':
      return state('good', 'delivered');
    case 'dead_letter':
      return state('bad', 'dead letter');
    case 'dropped':
      return state('off', 'dropped');
    case 'unknown':
      return state('off', 'attempts expired');
  }
}

function lastResult(event: WebhookEvent, summary: EventSummary | undefined, settings: WebhookSettings): Html {
  if (event.delivery === 'unknown')
    return html`<span class="soft">kept for ${count(settings.attemptRetentionDays)} days</span>`;
  const { lastStatus = null, lastError = null } = summary ?? {};
  const result = lastStatus === null ? lastError : `HTTP ${lastStatus}`;
  const next =
    event.nextAttemptAt === null
      ? null
      : html`<span class="sub">next ${timeOfDay(event.nextAttemptAt)}</span>`;
  return html`${result === null ? html`<span class="soft">no attempt</span>` : result} ${next}`;
}
