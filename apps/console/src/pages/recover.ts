import { html } from '@remix-run/html-template';
import { DEAD_LETTER_REASONS, EVENT_TYPES, LIMITS } from '@postrider/domain';
import type { DeadLetterReason, EventType, RecoveryId } from '@postrider/domain';
import type {
  AccountDetails,
  AttemptDay,
  DeadLetterCount,
  OwnedWebhook,
  Recovered,
  RecoveryCount,
  WebhookHealth,
} from '@postrider/store';
import { formTokens } from '../http/serve-form.ts';
import type { Visit } from '../http/serve-page.ts';
import { doneNote } from '../html/done.ts';
import { choiceField, ownerField, rangeFields, timeHint } from '../html/form.ts';
import type { Page } from '../html/layout.ts';
import { queryOf } from '../html/links.ts';
import { latestP95 } from '../html/plot.ts';
import { crumbs, emptyLine, endpointName, endpointText, head, section, state } from '../html/pieces.ts';
import type { Html, Part } from '../html/pieces.ts';
import { stackedTable } from '../html/table.ts';
import { clockTime, count, counted, duration, latency, moment, writtenTime } from '../html/words.ts';
import { healthState } from './health.ts';
import { paceOf } from './recoveries.ts';

/** The fields of the form that asks for a dry run. */
export interface RecoverFields {
  /** An account or a webhook, as the user wrote it. */
  readonly webhook?: string | undefined;
  /** The times when events were recorded, or dead letters were made. */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  readonly types?: EventType | undefined;
  readonly rate: number;
  readonly only: Recovered;
  /** The reason of dead letters. Absent: any. */
  readonly reason?: DeadLetterReason | undefined;
  /** Absent: failing endpoints are left out. */
  readonly failing?: 'include' | undefined;
}

/** What the dry run found for a webhook. */
export interface RecoverTarget {
  readonly webhook: OwnedWebhook;
  readonly count: RecoveryCount;
  /** The attempts at the webhook in the last 24 hours. */
  readonly day: AttemptDay | undefined;
  readonly health: WebhookHealth | undefined;
  /** The recovery of the webhook that runs already. */
  readonly running: RecoveryId | undefined;
  /** The webhook's dead letters of events from before the time range. Absent: not counted. */
  readonly earlier?: DeadLetterCount | undefined;
}

export interface RecoverParts {
  readonly fields: RecoverFields;
  /** Null: no account or webhook is given. */
  readonly dryRun: {
    readonly targets: readonly RecoverTarget[];
    readonly account: Pick<AccountDetails, 'name' | 'suspendedAt'> | null;
    readonly owner: string;
  } | null;
}

/** Above this number of events, the user types the number. */
const TYPED_ABOVE = 1_000;

/** The counts of a dry run. */
export interface CountedEvents {
  readonly matched: number;
  /** More events may match. The recovery sends them, too. */
  readonly hasMore: boolean;
}

/** `1001`, or `3+` when the count was cut: what the user types to confirm. Null: nothing. */
export function typedNumber(counts: readonly CountedEvents[]): string | null {
  const { matched, hasMore } = sumOf(counts);
  return hasMore || matched > TYPED_ABOVE ? `${matched}${hasMore ? '+' : ''}` : null;
}

/** `1 event`, `25,000+ events` */
export function eventsInWords(counts: readonly CountedEvents[]): string {
  const { matched, hasMore } = sumOf(counts);
  return `${count(matched, hasMore)} ${matched === 1 && !hasMore ? 'event' : 'events'}`;
}

function sumOf(counts: readonly CountedEvents[]): CountedEvents {
  return {
    matched: counts.reduce((total, { matched }) => total + matched, 0),
    hasMore: counts.some(({ hasMore }) => hasMore),
  };
}

/** The address of a dry run. */
export function recoverPath({ since, until, rate, only, ...rest }: RecoverFields): string {
  const range = { since: writtenTime(since), until: writtenTime(until) };
  return `/recover${queryOf({
    ...rest,
    ...range,
    rate: rate === LIMITS.recoveryRateDefault ? undefined : String(rate),
    only: only === 'undelivered' ? undefined : only,
  })}`;
}

/** `/recover` */
export function recoverPage({ fields, dryRun }: RecoverParts, visit: Visit): Page {
  const lead = visit.mayAct
    ? 'The dry run comes first. Postrider sends nothing until you confirm the count.'
    : 'A dry run counts, and sends nothing. Your role, reader, cannot start a recovery: ask an operator.';
  const main = html`${crumbs([{ href: '/dead-letters', name: 'Dead letters' }], 'Recover')}
  ${head('Recover events', { lead })} ${doneNote(visit.done)} ${askForm(fields)}
  ${dryRun === null ? null : html`${dryRunSection(dryRun, fields, visit.now)} ${confirmSection(dryRun, fields, visit)}`}`;
  return { title: dryRun === null ? 'Recover' : 'Recover: dry run', current: '/dead-letters', main };
}

function askForm(fields: RecoverFields): Html {
  const { webhook, types, rate, only, reason, failing } = fields;
  const choice = (value: Recovered, words: string) =>
    html`<label
      ><input type="radio" name="only" value="${value}" ${value === only ? html`checked` : null} />
      ${words}</label
    >`;
  return html`<form class="card filters" action="/recover" aria-label="Events to recover">
    <div class="fields">
      ${ownerField('r-wh', { value: webhook ?? '', isRequired: true })} ${rangeFields('r', fields)}
      ${choiceField('r-type', { name: 'types', label: 'Types', values: EVENT_TYPES, chosen: types, any: 'all' })}
      <div>
        <label for="r-rate">Events per second, each webhook</label>
        <input
          id="r-rate"
          name="rate"
          type="number"
          min="1"
          max="${LIMITS.recoveryRateMax}"
          value="${rate}"
        />
      </div>
      <fieldset class="choice two">
        <legend>Which events</legend>
        ${choice('undelivered', 'Undelivered events, also those whose dead letter retention deleted')}
        ${choice('all', 'All events, also delivered ones (the endpoint gets those twice)')}
        ${choice('dead_letters', 'Dead letters alone, by the time of giving up')}
      </fieldset>
      ${
        failing === undefined
          ? null
          : html`<div class="choice two">
              <label
                ><input type="checkbox" name="failing" value="include" checked /> Include failing
                endpoints</label
              >
            </div>`
      }
      ${
        only === 'dead_letters'
          ? choiceField('r-reason', {
              name: 'reason',
              label: 'Reason',
              values: DEAD_LETTER_REASONS,
              chosen: reason,
            })
          : null
      }
      <div class="acts"><button class="btn">${webhook === undefined ? 'Count' : 'Count again'}</button></div>
    </div>
    ${timeHint}
  </form>`;
}

/** Why a recovery leaves a webhook out. Null: neither reason applies. */
function whyLeftOut(
  { webhook, running }: RecoverTarget,
  { failing }: RecoverFields,
): 'failing' | 'running' | null {
  if (running !== undefined) return 'running';
  return webhook.failingSince !== null && failing === undefined ? 'failing' : null;
}

function included(targets: readonly RecoverTarget[], fields: RecoverFields): readonly RecoverTarget[] {
  return targets.filter((target) => whyLeftOut(target, fields) === null && mayMatch(target));
}

/** A count that was cut looked at the oldest events. Newer ones may match. */
function mayMatch({ count: { matched, hasMore } }: RecoverTarget): boolean {
  return matched > 0 || hasMore;
}

function countsOf(targets: readonly RecoverTarget[]): readonly CountedEvents[] {
  return targets.map((target) => target.count);
}

type DryRun = NonNullable<RecoverParts['dryRun']>;

function dryRunSection({ targets, account }: DryRun, fields: RecoverFields, now: Date): Html {
  const heading = { title: 'Dry run', side: html`<p>${state('wait', 'nothing sent yet', 'pill')}</p>` };
  if (targets.length === 0) {
    const nothing = emptyLine('This account has no webhook.');
    return section('dry', heading, html`<div class="card">${nothing}</div>`);
  }
  const sent = included(targets, fields);
  const out = targets.filter((target) => whyLeftOut(target, fields) !== null && mayMatch(target));
  const asOf = targets[0]?.count.asOf ?? now;
  const table = stackedTable({
    caption: `${eventsInWords(countsOf(sent))} for ${counted(sent.length, 'webhook')}`,
    captionMore:
      out.length === 0
        ? ''
        : `${eventsInWords(countsOf(out))} for ${counted(out.length, 'other webhook')} left out`,
    columns: [
      { label: 'Webhook', isRoomy: true },
      'Endpoint now',
      { label: 'Events', isNumber: true },
      { label: 'Dead letters', isNumber: true },
      ...(fields.only === 'undelivered' ? [{ label: 'Deleted by retention', isNumber: true }] : []),
      fields.only === 'dead_letters' ? 'Given up first, last' : 'Oldest, newest',
      { label: 'Duration', isNumber: true },
    ],
    rows: targets.map((target) => targetCells(target, account, fields, now)),
  });
  return section(
    'dry',
    { ...heading, more: `counted at ${clockTime(asOf)}` },
    html`<div class="card">${table}</div>
      ${targets.map((target) => notesOf(target, fields))}`,
  );
}

function targetCells(
  target: RecoverTarget,
  account: DryRun['account'],
  fields: RecoverFields,
  now: Date,
): Part[] {
  const { webhook, day, health } = target;
  const { matched, deadLetters, oldest, newest, hasMore } = target.count;
  const more = hasMore ? '+' : '';
  const latest = day === undefined ? null : latestP95(day);
  const isOut = whyLeftOut(target, fields) !== null;
  const events = isOut
    ? html`<span class="soft">${count(matched)}${more}</span><span class="sub">left out</span>`
    : html`<b>${count(matched)}${more}</b>`;
  const p95 =
    webhook.failingSince === null && latest !== null
      ? html`<span class="sub">latest p95 ${latency(latest)}</span>`
      : null;
  return [
    html`<a href="/webhooks/${webhook.id}">${endpointText(webhook.endpoint)}</a
      ><span class="sub">${account?.name ?? ''}</span>`,
    html`${healthState(webhook, health, day, now)}${p95}`,
    events,
    count(deadLetters),
    ...(fields.only === 'undelivered' ? [`${count(matched - deadLetters)}${more}`] : []),
    oldest === null || newest === null
      ? ''
      : html`${moment(oldest, now)} <span class="sub">${moment(newest, now)}</span>`,
    durationText(target, account, fields),
  ];
}

function isSuspended(account: DryRun['account']): boolean {
  return account !== null && account.suspendedAt !== null;
}

/** The duration at the present pace: the endpoint may fail later, or be well again. */
function durationText(
  { webhook, count: { matched, hasMore } }: RecoverTarget,
  account: DryRun['account'],
  { rate }: RecoverFields,
): Part {
  if (isSuspended(account)) return 'waits';
  const isFailing = webhook.failingSince !== null;
  const perSecond = paceOf(rate, isFailing);
  const time = `${duration(Math.ceil(matched / perSecond))}${hasMore ? '+' : ''}`;
  return isFailing ? html`${time}<span class="sub">${count(perSecond)}/s while it fails</span>` : time;
}

function notesOf(target: RecoverTarget, fields: RecoverFields): Html | null {
  const { webhook, running } = target;
  const { hasMore, unknown } = target.count;
  const name = endpointName(webhook.endpoint);
  const notes: Html[] = earlierNotes(target, fields);
  const reason = whyLeftOut(target, fields);
  if (reason === 'failing' && mayMatch(target)) {
    notes.push(
      html`<b>${name} is left out because it is failing.</b> It may fail again: replay one event first.
        <a href="${recoverPath({ ...fields, failing: 'include' })}">Include it anyway</a>.`,
    );
  }
  if (reason === 'running' && running !== undefined) {
    notes.push(
      html`<b>${name} is left out because it has a recovery that runs.</b>
        <a href="/recoveries/${running}">Show it</a>.`,
    );
  }
  if (hasMore) {
    notes.push(
      html`<b>The dry run did not look at all events of ${name}.</b> More may match: the recovery sends them
        all.
        ${
          fields.webhook === webhook.id
            ? 'To count them all, shorten the time range.'
            : html`<a href="${recoverPath({ ...fields, webhook: webhook.id })}">Count this webhook alone</a>.`
        }`,
    );
  }
  if (unknown > 0) {
    notes.push(
      html`<b>${counted(unknown, 'event')} of ${name} ${unknown === 1 ? 'is' : 'are'} left out.</b> Their
        attempts are no longer logged, so nobody knows whether they arrived.`,
    );
  }
  return notes.length === 0
    ? null
    : html`${notes.map((text) => html`<div class="note wait"><p>${text}</p></div>`)}`;
}

/** The form begins with a range of one day. The outage may be longer. */
function earlierNotes(target: RecoverTarget, fields: RecoverFields): Html[] {
  const { webhook, earlier } = target;
  const { id, endpoint, createdAt, deadLettersDropped } = webhook;
  const { since, only, types } = fields;
  if (whyLeftOut(target, fields) !== null || only === 'dead_letters' || since === undefined) return [];
  const notes: Html[] = [];
  if (earlier !== undefined) {
    const { found, isWhole } = earlier;
    const number = `${count(found, !isWhole)} ${found === 1 ? 'dead letter' : 'dead letters'}`;
    const leavesOut = found === 0 ? 'may leave out dead letters' : `leaves out ${number}`;
    const all = recoverPath({
      webhook: id,
      types,
      rate: fields.rate,
      only: 'dead_letters',
      failing: fields.failing,
    });
    notes.push(
      html`<b>The recovery ${leavesOut} of ${endpointName(endpoint)}.</b> Their events were recorded before
        Since. Set an earlier Since, or <a href="${all}">count all its dead letters</a>.`,
    );
  }
  if (deadLettersDropped > 0 && since > createdAt) {
    notes.push(
      html`<b
          >Retention has deleted ${counted(deadLettersDropped, 'dead letter')} of
          ${endpointName(endpoint)}.</b
        >
        Their events may have been recorded before Since. To count them, set an earlier Since.`,
    );
  }
  return notes;
}

function confirmSection({ targets, account }: DryRun, fields: RecoverFields, visit: Visit): Html | null {
  const sent = included(targets, fields);
  const [first] = sent;
  if (first === undefined || !visit.mayAct) return null;
  const words = eventsInWords(countsOf(sent));
  const typed = typedNumber(countsOf(sent));
  const { until, asOf } = first.count;
  const form = html`<form class="card pad narrow-page" method="post" action="/recoveries">
    ${formTokens(visit.visitor)} ${hiddenFields(fields, sent, asOf)}
    <ul class="dots">
      <li>
        Postrider sends <b>${words}</b>, each once, to <b>${counted(sent.length, 'webhook')}</b>, at
        ${count(fields.rate)} per second${sent.length > 1 ? ' each' : ''}. New events go first.
      </li>
      ${
        isSuspended(account)
          ? html`<li>
              <b>The account is suspended.</b> The recovery waits until <code>account resume</code>.
            </li>`
          : null
      }
      <li>Ids and bytes stay the same, so a receiver that removes duplicates processes no event twice.</li>
      <li>
        ${
          fields.only === 'dead_letters'
            ? html`The recovery leaves out dead letters made after ${moment(until, visit.now)}.`
            : html`The recovery leaves out events recorded after ${moment(until, visit.now)} and deliveries
              that fail after ${clockTime(asOf)}.`
        }
      </li>
    </ul>
    ${typed === null ? null : typedCount(typed)}
    <div>
      <label for="r-note">Note for the audit (optional)</label>
      <input id="r-note" name="note" maxlength="200" autocomplete="off" />
    </div>
    <div class="acts">
      <button class="btn danger">Recover ${words}</button>
      <a class="btn plain" href="/dead-letters">Cancel</a>
    </div>
  </form>`;
  return section('confirm', { title: 'Confirm' }, form);
}

function typedCount(typed: string): Html {
  const why = typed.endsWith('+')
    ? 'The + stands for the events that the dry run did not look at. It may be many.'
    : `Required above ${count(TYPED_ABOVE)} events.`;
  return html`<div>
    <label for="r-count">Type the number of events</label>
    <input
      id="r-count"
      name="count"
      inputmode="${typed.endsWith('+') ? 'text' : 'numeric'}"
      autocomplete="off"
      required
      aria-describedby="r-count-hint"
    />
    <p class="hint" id="r-count-hint">${typed}, with or without the comma. ${why}</p>
  </div>`;
}

/** The dry run, its count and its moment. Postrider starts nothing if the number has changed since then. */
function hiddenFields(fields: RecoverFields, sent: readonly RecoverTarget[], asOf: Date): Html {
  const values = {
    webhook: fields.webhook ?? '',
    since: fields.since?.toISOString() ?? '',
    until: fields.until?.toISOString() ?? '',
    types: fields.types ?? '',
    rate: String(fields.rate),
    only: fields.only,
    reason: fields.reason ?? '',
    failing: fields.failing ?? '',
    at: asOf.toISOString(),
    counted: sent
      .map(({ webhook, count: { matched, hasMore } }) => `${webhook.id}:${matched}${hasMore ? '+' : ''}`)
      .join(' '),
  };
  return html`${Object.entries(values).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
  )}`;
}
