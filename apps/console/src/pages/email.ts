import { html } from '@remix-run/html-template';
import type { AccountDetails, FoundEmail, FoundEvents } from '@postrider/store';
import type { Visit } from '../http/serve-page.ts';
import type { Page } from '../html/layout.ts';
import { accountCrumb, accountLink, addressLink, queryOf } from '../html/links.ts';
import { pager, shownOf } from '../html/list.ts';
import { crumbs, empty, facts, head, idCode, section, state, timeAgo, wholeId } from '../html/pieces.ts';
import type { Fact, Html, Sign } from '../html/pieces.ts';
import { stackedTable } from '../html/table.ts';
import { count, counted, dayAfter, gap, subjectText } from '../html/words.ts';
import type { Settings } from '../settings.ts';
import { deliveredOf, fatesInWords } from './fates.ts';

export interface EmailParts extends FoundEvents {
  readonly email: FoundEmail;
  readonly account: Pick<AccountDetails, 'name' | 'suspendedAt'> | null;
  /** False: the events are a later page of the list. */
  readonly isFirst: boolean;
}

export function emailPage(parts: EmailParts, settings: Settings, { now }: Visit): Page {
  const { email, account } = parts;
  const title = subjectText(email.subject);
  const pill = state(emailSign(email.lastEvent), email.lastEvent, 'pill');
  const ids = html`${pill} ${wholeId(email.id, 'email id')}`;
  const main = html`${crumbs([accountCrumb(email.accountId, account?.name)], 'Email')} ${head(title, { ids })}
    <section class="card" aria-label="Facts">${facts(emailFacts(parts, settings, now), 'four')}</section>
    ${eventsSection(parts, now)}`;
  return { title, main };
}

const BAD_STATES = ['bounced', 'failed', 'complained', 'rejected'];
const WAITING_STATES = ['queued', 'delivery_delayed', 'soft_bounced'];

export function emailSign(lastEvent: string): Sign {
  if (BAD_STATES.includes(lastEvent)) return 'bad';
  if (lastEvent === 'stored') return 'off'; // mail of a test key is never sent
  return WAITING_STATES.includes(lastEvent) ? 'wait' : 'good';
}

function emailFacts({ email, account }: EmailParts, settings: Settings, now: Date): Fact[] {
  const files = email.attachments;
  const optionalFacts: Fact[] = [
    ...(email.cc.length === 0 ? [] : [{ term: 'Cc', value: addresses(email.cc) }]),
    ...(email.bcc.length === 0 ? [] : [{ term: 'Bcc', value: addresses(email.bcc) }]),
    ...(email.suppressedAddresses.length === 0
      ? []
      : [{ term: 'Left out, suppressed', value: addresses(email.suppressedAddresses) }]),
    ...(email.error === null
      ? []
      : [{ term: 'Error', value: html`<code>${email.error}</code>`, full: true }]),
  ];
  return [
    {
      term: 'Account',
      value: accountLink(email.accountId, account?.name),
    },
    { term: 'From', value: html`<code>${email.from}</code>` },
    { term: 'To', value: addresses(email.to) },
    { term: 'Stored', value: timeAgo(email.createdAt, now, 'milliseconds') },
    { term: 'Sent', value: sentAt(email, account, now) },
    {
      term: 'Attachments',
      value: files.length === 0 ? 'none' : `${count(files.length)}: ${files.join(', ')}`,
    },
    {
      term: 'Tags',
      value:
        email.tags.length === 0
          ? 'none'
          : html`${email.tags.map(({ name, value }) => html`<span class="tag">${name}=${value}</span> `)}`,
    },
    { term: 'Contents kept until', value: dayAfter(email.createdAt, settings.mailContentRetentionDays) },
    ...optionalFacts,
    ...idFact('Key', 'key id', email.apiKeyId),
    ...idFact('Request', 'request id', email.requestId),
    ...idFact('The provider’s id', 'provider id', email.providerMessageId),
  ];
}

function idFact(term: string, what: string, id: string | null): Fact[] {
  return id === null ? [] : [{ term, value: html`<code data-copy="${what}">${id}</code>`, full: true }];
}

function addresses(list: readonly string[]): Html {
  return html`${list.map((address) => html`${addressLink(address)} `)}`;
}

function sentAt(email: FoundEmail, account: EmailParts['account'], now: Date): Html {
  const { sentAt: at, createdAt } = email;
  if (at === null) return html`<span class="soft">${whyNotSent(email, account)}</span>`;
  return html`${timeAgo(at, now)} <span class="rel">after ${gap(at.getTime() - createdAt.getTime())}</span>`;
}

function whyNotSent({ kind, status }: FoundEmail, account: EmailParts['account']): string {
  if (kind === 'test') return 'never: test key';
  if (status === 'failed') return 'never: it failed';
  const isSuspended = account !== null && account.suspendedAt !== null;
  return isSuspended ? 'not yet: the account is suspended' : 'not yet';
}

function eventsSection({ email, events, olderFrom, isFirst }: EmailParts, now: Date): Html {
  const rows = events.map(({ id, type, createdAt, fates }) => [
    html`<a href="/events/${id}">${type}</a> <span class="sub">${idCode(id)}</span>`,
    timeAgo(createdAt, now),
    fatesInWords(fates),
    deliveredOf(fates),
  ]);
  const table = stackedTable({
    caption: 'Events of this email, newest first',
    columns: ['Event', 'Recorded', 'Webhooks', { label: 'Delivered', isNumber: true }],
    rows,
  });
  const nothing = isFirst
    ? empty('No event is known', 'Mail of a test key has none. Events are deleted after their retention.')
    : empty('No older event is known', html`<a href="/emails/${email.id}">The newest events</a>`);
  const shown = shownOf(isFirst, counted(events.length, 'event'));
  const older = olderFrom === null ? null : `/emails/${email.id}${queryOf({ after: String(olderFrom) })}`;
  return section(
    'events',
    { title: 'What happened' },
    html`<div class="card">${rows.length === 0 ? nothing : html`${table} ${pager(shown, older)}`}</div>
      <p class="hint">
        The console never shows the text of an email. The customer can read it with
        <code>GET /v1/emails/{id}</code>.
      </p>`,
  );
}
