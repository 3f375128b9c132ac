import { html } from '@remix-run/html-template';
import type { SearchText } from '@postrider/domain';
import type { Account, EventFate, Findings } from '@postrider/store';
import type { Visit } from '../http/serve-page.ts';
import type { Page } from '../html/layout.ts';
import { endpointText, idCode, section, state, timeAgo } from '../html/pieces.ts';
import type { Html } from '../html/pieces.ts';
import { stackedTable } from '../html/table.ts';
import { count, counted } from '../html/words.ts';
import { deliveredOf, fatesInWords } from './fates.ts';
import { emailSign } from './email.ts';

export interface LookUpParts {
  /** As the user wrote it. */
  readonly q: string;
  readonly text: Exclude<SearchText, { kind: 'id' }>;
  readonly findings: Findings;
}

export interface LookUpSettings {
  readonly mailRetentionDays: number;
  readonly inboundRetentionDays: number;
  readonly eventRetentionDays: number;
  readonly deadLetterRetentionDays: number;
}

export function lookUpPage(parts: LookUpParts, settings: LookUpSettings, { now }: Visit): Page {
  const { q, text, findings } = parts;
  const { emails, messages, suppressions, webhooks } = findings;
  // For an address, the accounts are those of its mail.
  const accounts = text.kind === 'address' || text.kind === 'messageId' ? [] : findings.accounts;
  const found = [emails, messages, suppressions, webhooks, accounts].some((list) => list.length > 0);
  if (!found) return nothingFound(parts, settings);
  const lead = [
    counted(emails.length, 'email'),
    counted(messages.length, 'message'),
    counted(webhooks.length, 'webhook'),
    counted(accounts.length, 'account'),
  ].filter((words) => !words.startsWith('0 '));
  const main = html`<div class="head">
      <div>
        <h1>${q}</h1>
        <p class="lead">
          ${lead.join(', ')}${findings.hasMore ? ', and more: the newest are here' : ''}. Postrider keeps sent
          mail ${count(settings.mailRetentionDays)} days, received mail
          ${count(settings.inboundRetentionDays)} days.
        </p>
      </div>
    </div>
    ${suppressed(findings, now)} ${sentSection(findings, now)} ${receivedSection(findings, now)}
    ${webhookSection(findings)} ${accountSection(accounts, now)}`;
  return { title: q, searched: q, main };
}

const KINDS = {
  address: 'this email address',
  messageId: 'this Message-ID',
  domain: 'this domain: recipients, endpoints and sending domains',
  other: 'a request with this id and an account with this name',
} as const;

function nothingFound({ q, text }: LookUpParts, settings: LookUpSettings): Page {
  const main = html`<div class="head">
      <div>
        <h1>No results for “${q}”</h1>
        <p class="lead">The console searched for ${KINDS[text.kind]}. It found nothing.</p>
      </div>
    </div>
    <section class="sec narrow-page" aria-labelledby="why">
      <h2 id="why">Possible reasons</h2>
      <ul class="card pad choice">
        <li>The text is misspelled. The search ignores upper and lower case of an address.</li>
        <li>
          The mail is too old. Postrider keeps sent mail for ${count(settings.mailRetentionDays)} days,
          received mail for ${count(settings.inboundRetentionDays)}, events for
          ${count(settings.eventRetentionDays)}, and dead letters for
          ${count(settings.deadLetterRetentionDays)}.
        </li>
        <li>
          The inbound process refused the sender before it stored the mail. It logs this as
          <code>message.refused</code>.
        </li>
        <li>
          An operator erased the person’s data. <a href="/audit?action=account.erase">The audit</a> shows
          when, but not the address.
        </li>
        <li>The mail belongs to another installation.</li>
      </ul>
    </section>`;
  return { title: `No results for ${q}`, searched: q, main };
}

function accountLink({ accounts }: Findings, id: string): Html {
  const account = accounts.find((each: Account) => each.id === id);
  return html`<a href="/accounts/${id}">${account?.name ?? id}</a>`;
}

function suppressed(findings: Findings, now: Date): Html | null {
  const { suppressions } = findings;
  if (suppressions.length === 0) return null;
  const lines = suppressions.map(({ accountId, topicId, origin, emailId, createdAt }) => {
    const cause = emailId === null ? '' : html` from <a href="/emails/${emailId}">an email</a>`;
    return html`<p>
      ${accountLink(findings, accountId)}: ${topicId === null ? 'all mail' : 'one topic'}, origin
      <code>${origin}</code>${cause}, since ${timeAgo(createdAt, now)}
    </p>`;
  });
  return html`<section class="sec" aria-labelledby="suppressed">
    <div class="note wait">
      <h2 id="suppressed">
        Suppressed for ${counted(new Set(suppressions.map(({ accountId }) => accountId)).size, 'account')}
      </h2>
      ${lines}
      <p>New emails from such an account to this address end as <code>email.failed</code>.</p>
    </div>
  </section>`;
}

function fatesOf(
  event: { readonly fates: readonly EventFate[]; readonly id: string; readonly type: string } | null,
): Html {
  if (event === null) return state('off', 'no events');
  return html`<a href="/events/${event.id}">${event.type}</a
    ><span class="sub">${fatesInWords(event.fates)} ${deliveredOf(event.fates)}</span>`;
}

function sentSection(findings: Findings, now: Date): Html | null {
  const { emails } = findings;
  if (emails.length === 0) return null;
  const rows = emails.map((email) => [
    html`<a href="/emails/${email.id}">${email.subject === '' ? 'no subject' : email.subject}</a
      ><span class="sub">${idCode(email.id)}</span>`,
    timeAgo(email.createdAt, now),
    accountLink(findings, email.accountId),
    state(emailSign(email.lastEvent), email.lastEvent),
    fatesOf(email.newestEvent),
  ]);
  const columns = ['Email', 'Stored', 'Account', 'State', 'Newest event, webhooks'].map((label) => ({
    label,
  }));
  return section(
    'sent',
    { title: 'Sent', more: `${count(emails.length)}, newest first` },
    html`<div class="card">${stackedTable({ caption: 'Emails sent, newest first', columns, rows })}</div>`,
  );
}

function receivedSection(findings: Findings, now: Date): Html | null {
  const { messages } = findings;
  if (messages.length === 0) return null;
  const rows = messages.map((message) => [
    html`<a href="/messages/${message.id}">from ${message.from}</a
      ><span class="sub">${idCode(message.id)}</span>`,
    timeAgo(message.receivedAt, now),
    html`${accountLink(findings, message.accountId)}<span class="sub"
        >${message.receivedFor.join(', ')}</span
      >`,
    message.status === 'held'
      ? html`${state('wait', 'held')}<span class="sub"><code>${message.heldReason ?? ''}</code></span>`
      : state('good', message.status),
    fatesOf(message.newestEvent),
  ]);
  const columns = ['Message', 'Received', 'Account, inbox', 'State', 'Newest event, webhooks'].map(
    (label) => ({
      label,
    }),
  );
  return section(
    'received',
    { title: 'Received', more: `${count(messages.length)}, newest first` },
    html`<div class="card">
      ${stackedTable({ caption: 'Messages received, newest first', columns, rows })}
    </div>`,
  );
}

function webhookSection(findings: Findings): Html | null {
  const { webhooks } = findings;
  if (webhooks.length === 0) return null;
  const rows = webhooks.map(({ id, endpoint, accountId, failingSince }) => [
    html`<a href="/webhooks/${id}">${endpointText(endpoint)}</a><span class="sub">${idCode(id)}</span>`,
    accountLink(findings, accountId),
    failingSince === null ? state('good', 'not failing') : state('bad', 'failing'),
  ]);
  const columns = ['Webhook', 'Account', 'State'].map((label) => ({ label }));
  return section(
    'webhooks',
    { title: 'Webhooks', more: count(webhooks.length) },
    html`<div class="card">${stackedTable({ caption: 'Webhooks at this host', columns, rows })}</div>`,
  );
}

function accountSection(accounts: readonly Account[], now: Date): Html | null {
  if (accounts.length === 0) return null;
  const rows = accounts.map(({ id, name, createdAt }) => [
    html`<a href="/accounts/${id}">${name}</a><span class="sub">${idCode(id)}</span>`,
    timeAgo(createdAt, now, 'minutes'),
  ]);
  const columns = [{ label: 'Account' }, { label: 'Created' }];
  return section(
    'accounts',
    { title: 'Accounts', more: count(accounts.length) },
    html`<div class="card">${stackedTable({ caption: 'Accounts', columns, rows })}</div>`,
  );
}
