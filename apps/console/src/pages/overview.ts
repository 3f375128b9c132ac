import { html } from '@remix-run/html-template';
import { hostOf } from '@postrider/domain';
import type { AccountId, WebhookId } from '@postrider/domain';
import { DEAD_LETTERS_PER_HOUR_MAX, LOAD_COUNTED_MAX } from '@postrider/store';
import type {
  DeadLetterCount,
  DeadLetterHour,
  FailingWebhook,
  FoundRecovery,
  HeldCounts,
  KnownWorker,
  LateWebhook,
  Outstanding,
  readBusiestWebhooks,
  readiness,
  UnsentMail,
  WebhookHealth,
} from '@postrider/store';
import type { Visit } from '../http/serve-page.ts';
import type { Page } from '../html/layout.ts';
import { queryOf } from '../html/links.ts';
import { empty, emptyLine, endpointText, facts, idLink, section, state, timeAgo } from '../html/pieces.ts';
import type { Html } from '../html/pieces.ts';
import { numberTable, stackedTable } from '../html/table.ts';
import { clockTime, count, counted, DAY_MS, duration, latency, moment, writtenTime } from '../html/words.ts';
import { countPlot, hourAxis } from '../html/plot.ts';
import { counter, deadLetterLink } from './counter.ts';
import { lastAttempt } from './health.ts';
import { isRunning, lanesSection } from './lanes.ts';
import type { Lanes } from './lanes.ts';
import { isOpenEnded, matchedText, startedBy, timeLeft, webhookCell } from './recoveries.ts';

export interface OverviewParts {
  readonly readiness: Awaited<ReturnType<typeof readiness>>;
  readonly relayIsActive: boolean;
  /** True: no relay makes the days of the attempt log. */
  readonly lacksDays: boolean;
  readonly lanes: Lanes;
  /** The fault that the workers use another queue. Null: at least one uses this queue, or none runs. */
  readonly elsewhere: string | null;
  readonly outstanding: Outstanding;
  /** The two webhooks that wait longest, when an event waits longer than `FIRST_ATTEMPT_SECONDS_MAX`. */
  readonly late: readonly LateWebhook[];
  readonly unsent: UnsentMail;
  /** Dead letters of the last 24 hours. */
  readonly deadLetters: DeadLetterCount;
  readonly held: HeldCounts;
  /** The workers that reported in the last minute. */
  readonly workers: readonly KnownWorker[];
  /** The longest failure first. */
  readonly failing: readonly FailingWebhook[];
  readonly hasMoreFailing: boolean;
  readonly health: ReadonlyMap<WebhookId, WebhookHealth>;
  /** Running recoveries, the newest first. */
  readonly recoveries: readonly FoundRecovery[];
  readonly hasMoreRecoveries: boolean;
  /** 24 buckets, each from a full hour. The last hour is incomplete. */
  readonly letterHours: readonly DeadLetterHour[];
  readonly busiest: Awaited<ReturnType<typeof readBusiestWebhooks>>;
  readonly names: ReadonlyMap<AccountId, string>;
  /** True: the page reloads every 30 s. */
  readonly isLive: boolean;
}

export function overviewPage(parts: OverviewParts, { now }: Visit): Page {
  return {
    title: 'Overview',
    current: '/',
    hasOwnSearch: true,
    main: html`<h1 class="vh">Overview</h1>
      ${find()} ${nowSection(parts, now)} ${failingSection(parts, now)} ${recoveriesSection(parts, now)}
      <div class="cols">
        <div class="col">${busiestSection(parts, now)} ${letterSection(parts, now)}</div>
        ${lanesSection(parts.lanes, parts.workers)}
      </div>`,
  };
}

function find(): Html {
  const prefixes = ['evt_', 'em_', 'msg_', 'wh_', 'dl_', 'rec_', 'acct_', 'key_', 'dom_', 'sup_'];
  return html`<section class="hero" aria-label="Find">
    <form role="search" action="/search">
      <label for="q">Find an event, an email or an account</label>
      <div class="find">
        <input
          id="q"
          name="q"
          type="search"
          value=""
          autocomplete="off"
          autocapitalize="none"
          spellcheck="false"
          aria-describedby="q-hint"
          autofocus
        />
        <button class="btn main">Find</button>
      </div>
      <p class="hint" id="q-hint">
        Enter an id that begins with ${prefixes.map((prefix) => html`<span class="mono">${prefix}</span>, `)}a
        request id, an email address, a domain, a Message-ID or an account name.
      </p>
    </form>
  </section>`;
}

/** The alert of docs/operations/observe.md has the same limit. */
export const FIRST_ATTEMPT_SECONDS_MAX = 300;

/**
 * Returns the faults that keep Postrider from working, as sentences. `postrider status` has them, too, except
 * those of late events.
 */
function ownFaults(parts: OverviewParts, now: Date): string[] {
  const { readiness: ready, lanes, workers, elsewhere } = parts;
  return [
    ...(ready.ready ? [] : [ready.reason]),
    ...(lanes.fault === null ? [] : [lanes.fault]),
    ...(lanes.evictionFault === null ? [] : [lanes.evictionFault]),
    ...(parts.relayIsActive ? [] : ['No relay is active: nothing is claimed']),
    ...(parts.lacksDays ? ['No relay makes the days of the attempt log'] : []),
    ...(workers.some(isRunning) ? [] : ['No worker is running']),
    ...(elsewhere === null ? [] : [`${elsewhere.charAt(0).toUpperCase()}${elsewhere.slice(1)}`]),
    ...lateFaults(parts, now),
  ];
}

function lateFaults({ late: [first, second], busiest }: OverviewParts, now: Date): string[] {
  if (first === undefined) return [];
  const time = duration(first.seconds);
  if (second !== undefined) {
    return [`Events of several webhooks have waited for their first attempt, for up to ${time}`];
  }
  // The sums are two minutes late at most while a relay runs.
  const isRecent =
    busiest.until !== null && now.getTime() - busiest.until.getTime() < FIRST_ATTEMPT_SECONDS_MAX * 1_000;
  if (isRecent && busiest.webhooks.some(({ webhookId }) => webhookId !== first.webhookId)) return [];
  return [
    `An event for ${hostOf(first.endpoint)} has waited ${time} for its first attempt, and no recent attempt of another webhook is counted`,
  ];
}

function postriderVerdict(parts: OverviewParts, now: Date): Html {
  const faults = ownFaults(parts, now);
  if (faults.length > 0)
    return html`<p>${state('bad', 'Postrider has a fault')}</p>
      ${faults.map((fault) => html`<p>${fault}.</p>`)}`;
  const [late] = parts.late;
  if (late !== undefined)
    return html`<p>${state('wait', 'One webhook waits')}</p>
      <p>
        An event for <a href="/webhooks/${late.webhookId}">${hostOf(late.endpoint)}</a> has waited
        ${duration(late.seconds)} for its first attempt. Other webhooks had recent attempts, so the endpoint
        may be slow.
      </p>`;
  const workers = parts.workers.filter(isRunning).length;
  return html`<p>${state('good', 'Postrider is healthy')}</p>
    <p>
      Postgres and the queue answer. Migrations are current. A relay is active. ${counted(workers, 'worker')}
      ${workers === 1 ? 'runs' : 'run'}.
    </p>`;
}

function nowSection(parts: OverviewParts, now: Date): Html {
  const { failing, hasMoreFailing, isLive } = parts;
  const number = count(failing.length, hasMoreFailing);
  const endpointVerdict =
    failing.length === 0
      ? html`<p>${state('good', 'No endpoint is failing')}</p>
          <p>A webhook counts as failing after several failed attempts in a row.</p>`
      : html`<p>
            ${state('bad', `${number} ${failing.length === 1 ? 'endpoint is' : 'endpoints are'} failing`)}
          </p>
          <p>
            ${failing.length === 1 ? 'Its' : 'Their'} failed deliveries are retried, or are dead letters.
          </p>`;
  const side = html`<p class="small">
    <a href="${isLive ? '/?live=30' : '/'}">Refresh</a> ·
    ${isLive ? html`<a href="/">stop</a>` : html`<a href="/?live=30">every 30 s</a>`}
  </p>`;
  return section(
    'now',
    { title: 'Right now', side },
    html`<div class="card verdict">
        <div>${postriderVerdict(parts, now)}</div>
        <div>${endpointVerdict}</div>
      </div>
      <div class="card">${figures(parts, now)}</div>`,
  );
}

function figures(parts: OverviewParts, now: Date): Html {
  const { outstanding, deadLetters, held, unsent } = parts;
  const big = (text: string) => html`<span class="big">${text}</span>`;
  const heldCount = held.byReason.reduce((sum, { messages }) => sum + messages, 0);
  // The count takes the newest messages. Beyond its maximum, the oldest is not among them.
  const oldestHeld =
    held.isCut || held.byReason.length === 0
      ? undefined
      : Math.min(...held.byReason.map(({ oldest }) => oldest.getTime()));
  const age = (ms: number | undefined) =>
    ms === undefined ? null : html`<span class="rel">oldest ${duration((now.getTime() - ms) / 1000)}</span>`;
  return facts([
    {
      term: 'Outstanding deliveries',
      value: html`${big(count(outstanding.outstanding))}
        <span class="rel">${count(outstanding.dueNow)} due</span> ${toFailing(parts)}`,
    },
    { term: 'Oldest due', value: big(duration(outstanding.oldestDueSeconds)) },
    {
      term: 'Oldest without an attempt',
      value: html`${big(duration(outstanding.oldestFirstAttemptSeconds))}
        <span class="rel">alert above ${FIRST_ATTEMPT_SECONDS_MAX} s</span>`,
    },
    {
      term: 'Dead letters, 24 h',
      value: html`<a class="big" href="${lettersOfDay(now)}"
        >${count(deadLetters.found, !deadLetters.isWhole)}</a
      >`,
    },
    {
      term: 'Mail not sent yet',
      value: html`${big(count(unsent.emails, unsent.isCut))} ${age(unsent.oldestDueAt?.getTime())}`,
    },
    {
      term: 'Held mail',
      value: html`<a class="big" href="/held">${count(heldCount, held.isCut)}</a> ${age(oldestHeld)}`,
    },
  ]);
}

/** The path of the list of the dead letters that the figure counts. */
function lettersOfDay(now: Date): string {
  return `/dead-letters${queryOf({ since: writtenTime(new Date(now.getTime() - DAY_MS)) })}`;
}

/** The outstanding deliveries to failing endpoints. */
function toFailing({ health, failing, hasMoreFailing }: OverviewParts): Html | null {
  if (failing.length === 0) return null;
  const numbers = [...health.values()].map(({ outstanding }) => outstanding);
  const sum = numbers.reduce((total, number) => total + number, 0);
  const isCut = hasMoreFailing || numbers.some((number) => number >= LOAD_COUNTED_MAX);
  return html`<span class="rel">${count(sum, isCut)} to failing endpoints</span>`;
}

function failingSection({ failing, hasMoreFailing, health, names }: OverviewParts, now: Date): Html {
  if (failing.length === 0) {
    return html`<section class="sec card" aria-label="Failing endpoints">
      ${empty('No endpoint is failing', 'A webhook appears here after several failed attempts in a row.')}
    </section>`;
  }
  const rows = failing.map(({ webhookId, accountId, endpoint, failingSince }) => {
    const {
      outstanding = 0,
      deadLetters = 0,
      oldestDueAt: oldest = null,
      lastError = null,
    } = health.get(webhookId) ?? {};
    return [
      html`<a href="/webhooks/${webhookId}">${endpointText(hostOf(endpoint))}</a
        ><span class="sub">${names.get(accountId) ?? accountId}</span>`,
      timeAgo(failingSince, now, 'minutes'),
      html`${lastError === null ? '' : html`<code>${lastError}</code>`}${lastAttempt(health.get(webhookId), now)}`,
      counter(outstanding),
      oldest === null ? 'none' : duration((now.getTime() - oldest.getTime()) / 1000),
      deadLetterLink(webhookId, deadLetters),
    ];
  });
  const table = stackedTable({
    caption: 'Failing endpoints',
    columns: [
      { label: 'Webhook', isRoomy: true },
      'Failing since',
      { label: 'Last error', isRoomy: true },
      { label: 'Outstanding', isNumber: true },
      { label: 'Oldest due', isNumber: true },
      { label: 'Dead letters', isNumber: true },
    ],
    rows,
  });
  return section(
    'failing',
    {
      title: 'Failing endpoints',
      more: count(failing.length, hasMoreFailing),
      side: html`<p class="small soft">Longest failure first</p>`,
    },
    html`<div class="card">${table}</div>`,
  );
}

function recoveriesSection({ recoveries, hasMoreRecoveries }: OverviewParts, now: Date): Html | null {
  if (recoveries.length === 0) return null;
  const rows = recoveries.map((recovery) => {
    const { id, queued, matched } = recovery;
    const words = `${count(queued)} of ${matchedText(recovery)}`;
    return [
      idLink(id, `/recoveries/${id}`),
      webhookCell({ ...recovery, endpoint: hostOf(recovery.endpoint) }),
      isOpenEnded(recovery)
        ? words
        : html`${words}
            <progress
              value="${Math.min(queued, matched)}"
              max="${Math.max(1, matched)}"
              aria-label="${words} events queued"
            ></progress>`,
      timeLeft(recovery),
      startedBy(recovery, now),
    ];
  });
  const columns = ['Recovery', { label: 'Webhook', isRoomy: true }, 'Progress', 'Time left', 'Started by'];
  return section(
    'running',
    {
      title: 'Running recoveries',
      more: count(recoveries.length, hasMoreRecoveries),
      side: html`<p class="small"><a href="/recoveries">All recoveries</a></p>`,
    },
    html`<div class="card">${stackedTable({ caption: 'Running recoveries', columns, rows })}</div>`,
  );
}

function letterSection({ letterHours, deadLetters }: OverviewParts, now: Date): Html {
  const most = letterHours.reduce<DeadLetterHour | null>(
    (best, hour) => (hour.found > (best?.found ?? 0) ? hour : best),
    null,
  );
  const numberOf = (found: number) => count(found, found >= DEAD_LETTERS_PER_HOUR_MAX);
  const words =
    most === null
      ? 'None.'
      : `Most in the hour from ${clockTime(most.beginsAt, 'minutes')}: ${numberOf(most.found)}.`;
  const total = `${count(deadLetters.found, !deadLetters.isWhole)} in 24 h`;
  const side = html`<p class="small"><a href="/dead-letters">Show all</a></p>`;
  const values = letterHours.map(({ found }) => found);
  return section(
    'letters',
    { title: 'Dead letters by hour', more: total, side },
    html`<div class="card pad">
      ${countPlot(values, `Dead letters by hour, 24 h. ${words}`)} ${hourAxis(letterHours, now)}
      <p class="small soft">${words}</p>
    </div>`,
  );
}

function busiestSection({ busiest, names }: OverviewParts, now: Date): Html {
  const rows = busiest.webhooks.map(({ webhookId, accountId, endpoint, attempts, successes, p95Ms }) => [
    html`<a href="/webhooks/${webhookId}">${endpointText(hostOf(endpoint))}</a
      ><span class="sub">${names.get(accountId) ?? accountId}</span>`,
    count(attempts),
    count(attempts - successes),
    p95Ms === null ? 'none' : latency(p95Ms),
  ]);
  const table = numberTable({
    caption: 'Busiest webhooks',
    columns: [
      'Webhook',
      { label: 'Attempts', isNumber: true },
      { label: 'Failed', isNumber: true },
      { label: 'p95', isNumber: true },
    ],
    rows,
  });
  const nothing = busiest.until === null ? 'No minute is counted yet.' : 'No attempts in this minute.';
  // The minute may be hours old, if no relay has run since.
  const side = busiest.until && `By attempts in the minute to ${moment(busiest.until, now, 'minutes')}`;
  return section(
    'busy',
    { title: 'Busiest webhooks', side: html`<p class="small soft">${side}</p>` },
    html`<div class="card">${rows.length === 0 ? emptyLine(nothing) : table}</div>`,
  );
}
