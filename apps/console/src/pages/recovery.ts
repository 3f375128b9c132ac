import { html } from '@remix-run/html-template';
import type { FirstAttempts, FoundRecovery, FreshEvents } from '@postrider/store';
import { formTokens } from '../http/serve-form.ts';
import type { Visit } from '../http/serve-page.ts';
import { doneNote } from '../html/done.ts';
import type { Page } from '../html/layout.ts';
import { accountLink, queryOf } from '../html/links.ts';
import {
  crumbs,
  endpointName,
  endpointText,
  facts,
  head,
  section,
  timeAgo,
  wholeId,
} from '../html/pieces.ts';
import type { Html } from '../html/pieces.ts';
import { count, counted, gap, moment, writtenTime } from '../html/words.ts';
import { ACTED_THROUGH } from './actions.ts';
import { isBeginning, isOpenEnded, isSettled, matchedText, recoveryState, timeLeft } from './recoveries.ts';

export interface RecoveryParts {
  readonly recovery: FoundRecovery;
  /** Null: the recovery has ended. */
  readonly fresh: FreshEvents | null;
  /** The page loads itself again without script. */
  readonly isLive: boolean;
}

/** `/recoveries/:id` */
export function recoveryPage({ recovery, fresh, isLive }: RecoveryParts, visit: Visit): Page {
  const { id, endpoint } = recovery;
  const path = `/recoveries/${id}`;
  const [host = ''] = endpointName(endpoint).split('/');
  const title = `Recovery for ${host}`;
  const live = isSettled(recovery)
    ? null
    : html`<p class="small" data-live-of="progress">
        <a href="${isLive ? `${path}?live=5` : path}">Refresh</a> ·
        ${isLive ? html`<a href="${path}">stop</a>` : html`<a href="${path}?live=5">every 5 s</a>`}
      </p>`;
  const main = html`${crumbs([{ href: '/recoveries', name: 'Recoveries' }], 'Recovery')}
  ${head(title, { ids: wholeId(id, 'recovery id') }, live)} ${doneNote(visit.done)}
  ${progress(recovery, fresh, visit)} ${details(recovery, visit.now)}`;
  return { title, current: '/dead-letters', main };
}

/** The events that were queued, as a whole percentage: `66 %`. */
function share({ status, queued, matched }: FoundRecovery): string {
  if (status === 'finished') return '100 %';
  return `${matched === 0 ? 0 : Math.min(99, Math.floor((queued / matched) * 100))} %`;
}

/** A bar needs the number of all events. */
function bar(recovery: FoundRecovery): Html | null {
  if (isOpenEnded(recovery)) return null;
  const { status, queued, matched } = recovery;
  const max = Math.max(1, status === 'finished' ? queued : matched);
  return html`<progress value="${Math.min(queued, max)}" max="${max}" aria-labelledby="prog"></progress>`;
}

/** The part that the script replaces. */
function progress(recovery: FoundRecovery, fresh: FreshEvents | null, visit: Visit): Html {
  const { now } = visit;
  const { status, queued, delivered, inProgress, left, rate } = recovery;
  // A finished recovery has queued all its events, so their number is known.
  const all = status === 'finished' && recovery.hasMore ? count(queued) : matchedText(recovery);
  return html`<section
    class="sec"
    id="progress"
    ${isSettled(recovery) ? null : html`data-live="2"`}
    aria-labelledby="prog"
  >
    <div class="sec-head">
      <h2 id="prog">
        ${count(queued)} of ${all} events queued
        ${isOpenEnded(recovery) ? null : html`<span>${share(recovery)}</span>`}
      </h2>
      <p>${recoveryState(recovery, 'pill')}</p>
    </div>
    <div class="card pad">
      ${bar(recovery)}
      <p class="axis">
        <span>Started ${moment(recovery.startedAt, now)}</span><span>${endText(recovery, now)}</span>
      </p>
    </div>
    <div class="card">
      ${facts([
        { term: 'Delivered', value: big(delivered) },
        { term: 'In progress', value: big(inProgress) },
        { term: 'Failed again', value: failedAgain(recovery) },
        {
          term: 'Remaining',
          value: isOpenEnded(recovery) ? html`<span class="soft">unknown</span>` : big(left),
        },
        {
          term: 'Rate',
          value: html`<span class="big">${count(rate)}/s</span>
            <span class="rel">at most${onAverage(recovery, now)}</span>`,
        },
        ...(fresh === null ? [] : [{ term: 'Fresh events, p95', value: freshText(fresh) }]),
      ])}
    </div>
    ${
      fresh === null
        ? null
        : html`<p class="hint">
            Fresh events: from the recording of an event to its first attempt at this webhook, for the newest
            100 since the start. An event that still waits counts with its wait so far.
          </p>`
    }
    ${status === 'running' && visit.mayAct ? stopForm(recovery, visit) : null}
  </section>`;
}

function big(value: number): Html {
  return html`<span class="big">${count(value)}</span>`;
}

/** The dead letters since the start. */
function failedAgain({ failed, webhookId, startedAt }: FoundRecovery): Html {
  if (failed === 0) return big(0);
  const query = queryOf({ webhook: webhookId, since: writtenTime(startedAt) });
  return html`<a class="big" href="/dead-letters${query}">${count(failed)}</a>
    <span class="rel">see the dead letters</span>`;
}

/** The recovery waits while fresh events wait, so it may be slower than its rate. */
function onAverage({ queued, startedAt, status }: FoundRecovery, now: Date): string {
  const seconds = (now.getTime() - startedAt.getTime()) / 1000;
  if (status !== 'running' || queued === 0 || seconds < 1) return '';
  return `, ${count(Math.round(queued / seconds))}/s on average`;
}

function freshText({ since, before }: FreshEvents): Html {
  const usual = before === null ? null : html`<span class="rel">before: ${gap(before.p95Ms)}</span>`;
  if (since === null) return html`<span class="soft">none yet</span> ${usual}`;
  return html`<span class="big">${gap(since.p95Ms)}</span> ${usual} ${waitText(since)}`;
}

function waitText({ events, waiting }: FirstAttempts): Html | null {
  if (waiting === 0) return null;
  return html`<span class="rel"
    >${count(waiting)} of ${count(events)} still ${waiting === 1 ? 'waits' : 'wait'}</span
  >`;
}

function endText(recovery: FoundRecovery, now: Date): string {
  const { status, endedAt } = recovery;
  const end = status === 'stopped' ? 'Stopped' : 'All queued';
  if (endedAt !== null) return `${end} ${moment(endedAt, now)}`;
  return timeLeft(recovery);
}

function stopForm(recovery: FoundRecovery, { visitor }: Visit): Html {
  const { id, left, queued } = recovery;
  // The count was cut, so it is not known how many events are left.
  const isCut = isOpenEnded(recovery);
  return html`<details class="ask">
    <summary class="btn">Stop…</summary>
    <form method="post" action="/recoveries/${id}/stop">
      ${formTokens(visitor)}
      <p>
        Stopping leaves <b>${isCut ? 'an unknown number of events' : counted(left, 'event')}</b> as they are.
        Postrider still sends the ${count(queued)} queued events. You cannot resume a stopped recovery. Start
        a new one for the remaining events.
      </p>
      <div class="acts">
        <button class="btn danger">
          Stop ${isCut ? 'the recovery' : `with ${counted(left, 'event')} remaining`}
        </button>
      </div>
    </form>
  </details>`;
}

function details(recovery: FoundRecovery, now: Date): Html {
  const { webhookId, endpoint, accountId, accountName, since, until, types, startedBy: by } = recovery;
  const note = by?.note ?? null;
  const who =
    by === null
      ? html`unknown: the audit no longer has the entry`
      : html`<b>${by.name}</b> ${ACTED_THROUGH[by.kind]}, ${timeAgo(recovery.startedAt, now)}`;
  return section(
    'asked',
    { title: 'Details' },
    html`<div class="card pad">
      <dl class="pairs">
        <dt>Webhook</dt>
        <dd>
          <a href="/webhooks/${webhookId}">${endpointText(endpoint)}</a> of
          ${accountLink(accountId, accountName)}
        </dd>
        <dt>${recovery.only === 'dead_letters' ? 'Given up' : 'Range'}</dt>
        <dd>${isBeginning(since) ? 'until' : `${moment(since, now)} to`} ${moment(until, now)} UTC</dd>
        <dt>Types</dt>
        <dd>${types.length === 0 ? 'all' : types.join(', ')}</dd>
        <dt>Which events</dt>
        <dd>${whichEvents(recovery)}</dd>
        <dt>Started by</dt>
        <dd>${who}</dd>
        ${
          note === null
            ? null
            : html`<dt>Note</dt>
                <dd>${note}</dd>`
        }
      </dl>
    </div>`,
  );
}

function whichEvents({ only, reason, deadLetters, matched, hasMore }: FoundRecovery): string {
  if (only === 'dead_letters') return `dead letters${reason === null ? '' : ` with the reason ${reason}`}`;
  const letters = counted(deadLetters, 'dead letter');
  if (only === 'all')
    return `all, also delivered ones: ${matchedText({ matched, hasMore })}, with ${letters}`;
  return `undelivered: ${letters} and ${matchedText({ matched: matched - deadLetters, hasMore })} whose dead letter retention deleted`;
}
