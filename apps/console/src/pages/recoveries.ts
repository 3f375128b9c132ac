import { html } from '@remix-run/html-template';
import type { WebhookId } from '@postrider/domain';
import { FAILING_STEP_SECONDS } from '@postrider/store';
import type { FoundRecovery, Page as ListPage } from '@postrider/store';
import type { Visit } from '../http/serve-page.ts';
import { doneNote } from '../html/done.ts';
import type { Page } from '../html/layout.ts';
import { olderOf, pager, shownOf } from '../html/list.ts';
import { crumbs, empty, endpointText, head, idLink, state } from '../html/pieces.ts';
import type { Html } from '../html/pieces.ts';
import { stackedTable } from '../html/table.ts';
import { ago, clockTime, count, counted, duration, moment } from '../html/words.ts';

export interface RecoveriesParts {
  readonly page: ListPage<FoundRecovery>;
  /** Undefined: the recoveries of all webhooks. */
  readonly webhookId: WebhookId | undefined;
  /** False: `page` is a later page of the list. */
  readonly isFirst: boolean;
}

/** `/recoveries` */
export function recoveriesPage(parts: RecoveriesParts, visit: Visit): Page {
  const { page, webhookId, isFirst } = parts;
  const recoveries = page.entries;
  const older = olderOf(page, '/recoveries', { webhook: webhookId });
  const shown = shownOf(isFirst, counted(recoveries.length, 'recovery', 'recoveries'));
  const list =
    recoveries.length === 0
      ? empty(
          'No recovery matches',
          'Postrider keeps a recovery for 90 days after its end. A page of a webhook starts one.',
        )
      : html`${recoveryTable(recoveries, visit.now)} ${pager(shown, older)}`;
  const lead = 'A recovery sends the events of a webhook and a time range again, each once.';
  const main = html`${crumbs([{ href: '/dead-letters', name: 'Dead letters' }], 'Recoveries')}
    ${head('Recoveries', { lead })} ${doneNote(visit.done)}
    <div class="card">${list}</div>`;
  return { title: 'Recoveries', current: '/dead-letters', main };
}

/** Recoveries, the newest first. */
export function recoveryTable(recoveries: readonly FoundRecovery[], now: Date): Html {
  const rows = recoveries.map((recovery) => [
    idLink(recovery.id, `/recoveries/${recovery.id}`),
    webhookCell(recovery),
    range(recovery, now),
    progressText(recovery),
    recoveryState(recovery),
    startedBy(recovery, now),
  ]);
  return stackedTable({
    caption: 'Recoveries, newest first',
    columns: [
      'Recovery',
      { label: 'Webhook', isRoomy: true },
      'Range, UTC',
      { label: 'Events', isNumber: true },
      'State',
      'Started by',
    ],
    rows,
  });
}

export function webhookCell({ webhookId, endpoint, accountName, accountId }: FoundRecovery): Html {
  return html`<a href="/webhooks/${webhookId}">${endpointText(endpoint)}</a
    ><span class="sub">${accountName ?? accountId}</span>`;
}

/** A recovery of dead letters without a Since has the time 0: it begins with the oldest. */
export function isBeginning(since: Date): boolean {
  return since.getTime() <= 0;
}

/** `25 Nov 22:00 to 26 Nov 06:00`, `24 Nov 13:10 to 15:40` */
function range({ since, until }: FoundRecovery, now: Date): string {
  if (isBeginning(since)) return `until ${moment(until, now, 'minutes')}`;
  const isOneDay = since.toISOString().slice(0, 10) === until.toISOString().slice(0, 10);
  const end = isOneDay ? clockTime(until, 'minutes') : moment(until, now, 'minutes');
  return `${moment(since, now, 'minutes')} to ${end}`;
}

/** `56 s left at 200/s`, `8 h left at 1/s: the endpoint fails` */
export function timeLeft(recovery: FoundRecovery): string {
  if (recovery.isSuspended) return 'waits: the account is suspended';
  const isFailing = recovery.failingSince !== null;
  const perSecond = paceOf(recovery.rate, isFailing);
  const time = isOpenEnded(recovery) ? 'time left unknown' : `${duration(recovery.left / perSecond)} left`;
  return `${time} at ${count(perSecond)}/s${isFailing ? ': the endpoint fails' : ''}`;
}

/** Events per second. A failing endpoint gets them one by one. */
export function paceOf(rate: number, isFailing: boolean): number {
  return isFailing ? 1 / FAILING_STEP_SECONDS : rate;
}

function progressText(recovery: FoundRecovery): Html {
  const { status, queued, failed, inProgress } = recovery;
  const notes = [
    ...(status === 'finished' ? [] : [`of ${matchedText(recovery)}`]),
    ...(inProgress === 0 ? [] : [`${count(inProgress)} in progress`]),
    ...(failed === 0 ? [] : [`${count(failed)} failed again`]),
  ];
  return html`${count(queued)} ${notes.map((note) => html`<span class="sub">${note}</span>`)}`;
}

/**
 * `28,412`; `500,000+` when the count ended before the last event. The recovery may by now have queued more
 * events than were counted.
 */
export function matchedText({
  matched,
  hasMore,
  queued = 0,
}: Pick<FoundRecovery, 'matched' | 'hasMore'> & { readonly queued?: number }): string {
  return count(hasMore ? Math.max(matched, queued) : matched, hasMore);
}

/** The count was cut, so the number of remaining events is unknown. */
export function isOpenEnded({ status, hasMore }: Pick<FoundRecovery, 'status' | 'hasMore'>): boolean {
  return hasMore && status !== 'finished';
}

/**
 * True when each event of the recovery has its outcome. A recovery ends when it has queued its last event,
 * which may not be delivered yet.
 */
export function isSettled({ status, inProgress }: FoundRecovery): boolean {
  return status !== 'running' && inProgress === 0;
}

export function recoveryState(recovery: FoundRecovery, shape: 'pill' | 'plain' = 'plain'): Html {
  const { status, failed } = recovery;
  if (status === 'finished' && !isSettled(recovery)) return state('wait', 'has queued all', shape);
  if (status === 'finished') return state(failed === 0 ? 'good' : 'bad', status, shape);
  return state(status === 'running' ? 'wait' : 'off', status, shape);
}

export function startedBy({ startedBy: by, startedAt }: FoundRecovery, now: Date): Html {
  return html`${by?.name ?? 'unknown'} <span class="sub">${ago(startedAt, now)}</span>`;
}
