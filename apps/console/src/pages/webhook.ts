import { html } from '@remix-run/html-template';
import { EVENT_TYPES } from '@postrider/domain';
import type { EventId } from '@postrider/domain';
import { EVENTS_LOOKED_AT_MAX, IN_FLIGHT_COUNTED_MAX } from '@postrider/store';
import type {
  AttemptDay,
  AccountDetails,
  EventSummary,
  Fate,
  OwnedWebhook,
  WebhookEvent,
  WebhookEventPage,
  WebhookHealth,
} from '@postrider/store';
import type { Visit } from '../http/serve-page.ts';
import { choiceField, rangeFields, timeHint } from '../html/form.ts';
import type { Page } from '../html/layout.ts';
import { accountCrumb, queryOf } from '../html/links.ts';
import { noneLookedAt, pager, tabs } from '../html/list.ts';
import {
  crumbs,
  empty,
  endpointName,
  facts,
  head,
  idCode,
  section,
  state,
  time,
  timeAgo,
  wholeId,
} from '../html/pieces.ts';
import type { Html } from '../html/pieces.ts';
import { failurePlot, highestP95, hourAxis, latencyPlot, latestP95, successRate } from '../html/plot.ts';
import { stackedTable } from '../html/table.ts';
import { ago, count, counted, day, duration, HOUR_MS, latency, moment, writtenTime } from '../html/words.ts';
import type { Settings } from '../settings.ts';
import { counter, deadLetterLink } from './counter.ts';
import { FATES } from './fates.ts';
import { healthOf } from './health.ts';

export interface WebhookFilter {
  readonly type?: string | undefined;
  readonly status?: string | undefined;
  readonly recipient?: string | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

export interface WebhookParts {
  readonly webhook: OwnedWebhook;
  readonly account: AccountDetails | null;
  readonly health: WebhookHealth | undefined;
  /** Attempts that run now. */
  readonly inFlight: number;
  /** The attempts of the last 24 hours. */
  readonly attempts: AttemptDay | undefined;
  readonly filter: WebhookFilter;
  readonly page: WebhookEventPage;
  readonly summaries: ReadonlyMap<EventId, EventSummary>;
  /** False: `page` is a later page of the list. */
  readonly isFirst: boolean;
}

export function webhookPage(parts: WebhookParts, settings: Settings, visit: Visit): Page {
  const { webhook, account, health, attempts } = parts;
  const { now } = visit;
  const title = endpointName(webhook.endpoint);
  const [host = '', ...path] = title.split('/');
  const rest = path.length === 0 ? '' : `/${path.join('/')}`;
  const { sign, word } = healthOf(webhook, health, attempts, now);
  const ids = html`${state(sign, word, 'pill')} ${wholeId(webhook.id, 'webhook id')}
    <span class="rel">registered ${day(webhook.createdAt)}, ${ago(webhook.createdAt, now)}</span>`;
  const acts = visit.mayAct
    ? html`<div class="acts"><a class="btn" href="${recoverLink(webhook)}">Recover…</a></div>`
    : null;
  const main = html`${crumbs([accountCrumb(webhook.accountId, account?.name)], 'Webhook')}
    ${head(html`${host}<wbr /><span class="soft">${rest}</span>`, { ids }, acts)} ${failure(parts, now)}
    <section class="card" aria-label="Facts">${webhookFacts(parts, settings, now)}</section>
    ${attempts === undefined ? null : plots(attempts, settings, now)} ${eventsSection(parts, settings, now)}`;
  return { title, main };
}

/** The range begins an hour early: earlier events may still have been in retry, and failed as well. */
function recoverLink({ id, failingSince }: OwnedWebhook): string {
  const since = failingSince === null ? undefined : new Date(failingSince.getTime() - HOUR_MS);
  return `/recover${queryOf({ webhook: id, since: writtenTime(since) })}`;
}

const NOTHING_LEFT =
  'No delivery waits: the next event or a replay shows whether the endpoint answers again.';

function failure({ webhook, account, health }: WebhookParts, now: Date): Html | null {
  const { failingSince, failingNoticeAt } = webhook;
  if (failingSince === null) return null;
  const seconds = (now.getTime() - failingSince.getTime()) / 1000;
  const { lastAttemptAt = null, lastSuccessAt = null, lastError = null, outstanding } = health ?? {};
  const attempt =
    lastAttemptAt === null ? null : html`The last attempt was at ${timeAgo(lastAttemptAt, now)}.`;
  const success =
    lastSuccessAt === null
      ? html`No success is known.`
      : html`The last success was at ${time(lastSuccessAt, now)}.`;
  const error = lastError === null ? null : html`The last error is <code>${lastError}</code>.`;
  // An older notice was about an earlier failure.
  const hasNotice = failingNoticeAt !== null && failingNoticeAt >= failingSince;
  const notice = hasNotice
    ? html`A notice was sent at ${time(failingNoticeAt, now)}.`
    : account?.noticeEmail === null
      ? html`Nobody gets a mail: the account has no address for notices.`
      : html`Nobody was notified yet.`;
  return html`<div class="note bad">
    <p>
      <b>Failing since ${moment(failingSince, now)}, for ${duration(seconds)}.</b> ${attempt}
      ${outstanding === 0 ? NOTHING_LEFT : null} ${success} ${error} ${notice}
    </p>
  </div>`;
}

function webhookFacts({ webhook, health, inFlight }: WebhookParts, settings: Settings, now: Date): Html {
  const { outstanding = 0, oldestDueAt = null, deadLetters = 0, lastSuccessAt = null } = health ?? {};
  const due =
    oldestDueAt === null
      ? null
      : html`<span class="rel">oldest due ${duration((now.getTime() - oldestDueAt.getTime()) / 1000)}</span>`;
  return facts([
    { term: 'Outstanding', value: html`${counter(outstanding)} ${due}` },
    {
      term: 'Dead letters',
      value: html`${deadLetterLink(webhook.id, deadLetters)}
        <span class="rel">limit ${count(settings.deadLettersPerWebhookMax)}</span>`,
    },
    { term: 'Dead letters deleted by retention', value: count(webhook.deadLettersDropped) },
    {
      term: 'In flight',
      value: html`${count(inFlight, inFlight >= IN_FLIGHT_COUNTED_MAX)}
        <span class="rel">${inFlight === 1 ? 'attempt runs' : 'attempts run'} now</span>`,
    },
    {
      term: 'Last success',
      value:
        lastSuccessAt === null ? html`<span class="soft">none known</span>` : timeAgo(lastSuccessAt, now),
    },
    { term: 'Types', value: webhook.events.length === 0 ? 'all' : webhook.events.join(', ') },
    { term: 'Domains', value: webhook.domains?.join(', ') ?? 'all' },
  ]);
}

function plots(attempts: AttemptDay, { deliveryTimeoutMs }: Settings, now: Date): Html {
  const [latest, highest] = [latestP95(attempts), highestP95(attempts)];
  const axis = hourAxis(attempts.hours, now);
  const share = attempts.attempts === 0 ? 'none' : `${successRate(attempts)} of ${count(attempts.attempts)}`;
  return html`<div class="cols">
    ${section(
      'rate',
      {
        title: 'Successful attempts',
        more: `${share} in 24 h`,
        side: html`<p class="key"><span>2xx</span><span class="no">failed</span></p>`,
      },
      html`<div class="card pad">${failurePlot(attempts, 'wide')} ${axis}</div>`,
    )}
    ${section(
      'p95',
      {
        title: 'p95',
        more: latest === null ? 'none in 24 h' : `latest ${latency(latest)}`,
        side: html`<p class="small soft">
          ${highest === null ? null : `Highest ${latency(highest)};`} limit ${latency(deliveryTimeoutMs)}
        </p>`,
      },
      html`<div class="card pad">${latencyPlot(attempts, 'wide')} ${axis}</div>`,
    )}
  </div>`;
}

const TABS = {
  All: undefined,
  Pending: 'pending',
  Retrying: 'attempting',
  Failed: 'failed',
  Delivered: 'success',
};

function eventsSection(parts: WebhookParts, settings: Settings, now: Date): Html {
  const { webhook, filter, page, isFirst } = parts;
  const path = `/webhooks/${webhook.id}`;
  const query = { ...filter, since: writtenTime(filter.since), until: writtenTime(filter.until) };
  const older = page.hasMore ? `${path}${queryOf({ ...query, after: String(page.position) })}` : null;
  const number = counted(page.entries.length, isFirst ? 'newest event' : 'event');
  const list =
    page.entries.length === 0
      ? noEvents(isFirst, path, older)
      : html`${eventTable(parts, settings, now)} ${pager(isFirst ? `The ${number}` : number, older)}`;
  return section(
    'events',
    {
      title: 'Events',
      side: tabs(
        'Events by status',
        Object.entries(TABS).map(([name, status]) => ({
          name,
          href: `${path}${queryOf({ ...query, status })}`,
          isCurrent: status === filter.status,
        })),
      ),
    },
    html`<div class="card">${filterForm(path, filter)} ${list}</div>`,
  );
}

/** @param path of the webhook. @param older the path of the next page; null: the list ends here */
function noEvents(isFirst: boolean, path: string, older: string | null): Html {
  if (older !== null) return noneLookedAt(isFirst, EVENTS_LOOKED_AT_MAX, { older, all: path });
  const why = isFirst
    ? 'Nothing was recorded for this webhook that fits the filter, or it is older than its retention.'
    : null;
  return empty(
    isFirst ? 'No event matches' : 'No older event matches',
    html`${why} <a href="${path}">Show all events</a>.`,
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
        ${choiceField('f-type', { name: 'type', label: 'Type', values: EVENT_TYPES, chosen: filter.type })}
        <div>
          <label for="f-rec">Recipient</label>
          <input id="f-rec" name="recipient" value="${filter.recipient ?? ''}" autocomplete="off" />
        </div>
        ${rangeFields('f', filter)}
        <div class="acts"><button class="btn">Show</button></div>
      </div>
      ${timeHint}
    </form>
  </details>`;
}

function eventTable({ page, summaries }: WebhookParts, settings: Settings, now: Date): Html {
  const rows = page.entries.map((event) => {
    const summary = summaries.get(event.id);
    return [
      html`<a href="/events/${event.id}">${event.type}</a><span class="sub">${idCode(event.id)}</span>`,
      timeAgo(event.createdAt, now),
      summary?.recipients.join(', ') ?? '',
      eventState(event),
      event.delivery === 'unknown' ? html`<span class="soft">unknown</span>` : count(event.attempts),
      lastResult(event, summary, settings, now),
    ];
  });
  return stackedTable({
    caption: 'Events for this webhook, newest first',
    columns: [
      'Event',
      'Recorded',
      'Recipient',
      'State',
      { label: 'Attempts', isNumber: true },
      'Last result',
    ],
    rows,
  });
}

function eventState(event: WebhookEvent): Html {
  const [sign, word] = FATES[fateOf(event)];
  return state(sign, word);
}

function fateOf({ delivery, status }: WebhookEvent): Fate {
  if (delivery === 'unknown') return 'attempts_expired';
  if (delivery !== 'queued') return delivery;
  return status === 'pending' ? 'waiting' : 'retrying';
}

function lastResult(
  event: WebhookEvent,
  summary: EventSummary | undefined,
  settings: Settings,
  now: Date,
): Html {
  if (event.delivery === 'unknown')
    return html`<span class="soft">kept for ${count(settings.attemptRetentionDays)} days</span>`;
  const { lastStatus = null, lastError = null } = summary ?? {};
  const result = lastStatus === null ? lastError : `HTTP ${lastStatus}`;
  const at = event.nextAttemptAt;
  const next =
    at === null
      ? null
      : html`<span class="sub">${at <= now ? 'due now' : html`next ${time(at, now)}`}</span>`;
  return html`${result === null ? html`<span class="soft">no attempt</span>` : result} ${next}`;
}
