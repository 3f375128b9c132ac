import { html } from '@remix-run/html-template';
import { HELD_REASONS } from '@postrider/domain';
import type { AccountId } from '@postrider/domain';
import { HELD_COUNTED_MAX } from '@postrider/store';
import type { FoundHeldMessages, HeldCounts, HeldMessage, ReleasedMessage } from '@postrider/store';
import type { Visit } from '../http/serve-page.ts';
import { doneNote } from '../html/done.ts';
import type { Page } from '../html/layout.ts';
import { accountLink, queryOf } from '../html/links.ts';
import { noneLookedAt, pager, positionText, tabs } from '../html/list.ts';
import { empty, head, idCode, state, timeAgo } from '../html/pieces.ts';
import type { Html, Part } from '../html/pieces.ts';
import { stackedTable } from '../html/table.ts';
import { bytes, clipped, count, counted, subjectText } from '../html/words.ts';
import type { Settings } from '../settings.ts';
import { HELD_WORDS } from './held-reason.ts';

export interface HeldParts {
  readonly held: FoundHeldMessages & { readonly isFirst: boolean };
  /** The counts of all accounts, also with a filter. */
  readonly counts: HeldCounts;
  /** The releases of the last 24 hours. With `isShown`, the page lists them in place of held mail. */
  readonly released: { readonly messages: readonly ReleasedMessage[]; readonly isShown: boolean };
  /** Null: the page shows all accounts. */
  readonly account: { readonly id: AccountId; readonly name: string } | null;
  readonly filter: { readonly account?: string | undefined; readonly reason?: string | undefined };
}

/** The page shows at most so many releases. It reads one more, to know whether there are more. */
export const RELEASED_MAX = 100;

export function heldPage(parts: HeldParts, settings: Settings, visit: Visit): Page {
  const lead = html`Screening keeps this mail out of its inbox. Postrider deletes it
  ${count(settings.inboundRetentionDays)} days after arrival, released or not.`;
  const main = html`${head('Held mail', { lead })} ${doneNote(visit.done)} ${ofAccount(parts.account)}
    ${reasonTabs(parts)}
    <div class="card">
      ${parts.released.isShown ? releasedList(parts, visit.now) : heldList(parts, visit)}
    </div>`;
  return { title: 'Held mail', current: '/held', main };
}

function ofAccount(account: HeldParts['account']): Html | null {
  if (account === null) return null;
  return html`<p>
    Of the account ${accountLink(account.id, account.name)}.
    <a href="/held">Show all held mail</a>.
  </p>`;
}

function heldList({ held: { messages, olderFrom, isFirst }, filter }: HeldParts, visit: Visit): Html {
  const older = olderFrom === null ? null : `/held${queryOf({ ...filter, after: positionText(olderFrom) })}`;
  if (messages.length > 0) {
    return html`${heldTable(messages, visit)} ${pager(counted(messages.length, 'message'), older)}`;
  }
  if (older !== null) return noneLookedAt(isFirst, HELD_COUNTED_MAX, { older, all: '/held' });
  if (!isFirst || (filter.account ?? filter.reason) !== undefined) {
    return empty(
      isFirst ? 'No held mail matches' : 'No older held mail matches',
      html`<a href="/held">Show all held mail</a>.`,
    );
  }
  return empty(
    'No mail is held',
    'Screening holds mail with a virus, spam, a failed sender check or a blocked sender.',
  );
}

function reasonTabs({ counts, filter, released }: HeldParts): Html {
  const { account } = filter;
  const numberOf = (reason: string) => counts.byReason.find((each) => each.reason === reason)?.messages ?? 0;
  const all = counts.byReason.reduce((sum, { messages }) => sum + messages, 0);
  // The counts are of all accounts, so they are not shown for one. When they are cut, each reason may have
  // more.
  const more = (number: number) => (account === undefined ? { more: count(number, counts.isCut) } : {});
  const tab = (name: string, reason: string | undefined, number: number) => ({
    name,
    ...more(number),
    href: `/held${queryOf({ account, reason })}`,
    isCurrent: !released.isShown && filter.reason === reason,
  });
  const hasMoreReleased = released.messages.length > RELEASED_MAX;
  return tabs('Filter by reason', [
    tab('All', undefined, all),
    ...HELD_REASONS.map((reason) => tab(reason, reason, numberOf(reason))),
    {
      name: 'Released, 24 h',
      more: count(Math.min(RELEASED_MAX, released.messages.length), hasMoreReleased),
      href: `/held${queryOf({ account, status: 'released' })}`,
      isCurrent: released.isShown,
    },
  ]);
}

function releasedList({ released, account }: HeldParts, now: Date): Html {
  const messages = released.messages.slice(0, RELEASED_MAX);
  const earlier = `/audit${queryOf({ action: 'message.release', account: account?.id })}`;
  if (messages.length === 0) {
    return empty(
      account === null ? 'No mail was released in 24 h' : 'No release in 24 h matches',
      html`The <a href="${earlier}">audit</a> has earlier releases.`,
    );
  }
  const rows = messages.map((message): Part[] => [
    ...commonCells(message, now),
    html`${timeAgo(message.releasedAt, now)}<span class="sub">by ${message.actor}</span>`,
  ]);
  const table = stackedTable({
    caption: 'Released mail, the last release first',
    columns: ['Message', 'Received', 'Account, inbox', 'Reason', 'Released'],
    rows,
  });
  return html`${table} ${pager(`The last ${counted(messages.length, 'release')}`, null)}`;
}

/** The cells of held and of released mail. */
function commonCells(message: HeldMessage, now: Date): Part[] {
  const { sign, words } = HELD_WORDS[message.heldReason];
  return [
    html`<a href="/messages/${message.id}">${subjectText(message.subject)}</a
      ><span class="sub">from ${clipped(message.from)}</span
      ><span class="sub">${idCode(message.id)} ${bytes(message.size)}</span>`,
    timeAgo(message.receivedAt, now),
    html`${accountLink(message.accountId, message.accountName)}<span class="sub"
        >${message.receivedFor.join(', ')}</span
      >`,
    html`${state(sign, message.heldReason)}<span class="sub">${words}</span>`,
  ];
}

function heldTable(messages: readonly HeldMessage[], { now, mayAct }: Visit): Html {
  const rows = messages.map((message): Part[] => {
    return [
      ...commonCells(message, now),
      html`<span class="sub">SPF ${message.spf}</span><span class="sub">DKIM ${message.dkim}</span
        ><span class="sub">DMARC ${message.dmarc}</span>`,
      ...(mayAct
        ? [
            html`<a class="btn slim" href="/messages/${message.id}#release"
              >Release…<span class="vh"> ${subjectText(message.subject)}</span></a
            >`,
          ]
        : []),
    ];
  });
  const columns = [
    'Message',
    'Received',
    'Account, inbox',
    'Reason',
    'Checks',
    ...(mayAct ? ['Release'] : []),
  ];
  return stackedTable({ caption: 'Held mail, newest first', columns, rows });
}
