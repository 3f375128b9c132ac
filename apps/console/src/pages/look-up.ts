import { html } from '@remix-run/html-template';
import type { AccountId } from '@postrider/domain';
import type { FindingCount, Findings, LookedUpText, OwnedSuppression } from '@postrider/store';
import type { Visit } from '../http/serve-page.ts';
import type { Page } from '../html/layout.ts';
import { accountLink, queryOf, searchPath } from '../html/links.ts';
import { tabs } from '../html/list.ts';
import { endpointText, head, idCode, section, state, timeAgo } from '../html/pieces.ts';
import type { Html } from '../html/pieces.ts';
import { stackedTable } from '../html/table.ts';
import { clipped, count, counted, shellWord, subjectText } from '../html/words.ts';
import type { Settings } from '../settings.ts';
import { newestEventCell } from './fates.ts';
import { emailSign } from './email.ts';

export interface LookUpParts {
  /** As the user wrote it. */
  readonly q: string;
  readonly text: LookedUpText;
  readonly findings: Findings;
  /** The findings are of this account. Unset: of all accounts. */
  readonly accountId: AccountId | undefined;
}

export function lookUpPage(parts: LookUpParts, settings: Settings, { now }: Visit): Page {
  const { q, findings } = parts;
  const { emails, messages, suppressions, webhooks, accounts, counts } = findings;
  const isEmpty = [emails, messages, suppressions, webhooks, accounts].every((list) => list.length === 0);
  if (isEmpty) return nothingFound(parts, settings);
  const nouns = ['emails', 'messages', 'webhooks', 'accounts'] as const;
  const numbers = nouns
    .filter((noun) => counts[noun].found > 0)
    .map((noun) => `${countText(counts[noun])} ${counts[noun].found === 1 ? noun.slice(0, -1) : noun}`);
  const lead = html`${numbers.length === 0 ? null : `${numbers.join(', ')}.`} Postrider keeps sent mail
  ${count(settings.mailRetentionDays)} days, received mail ${count(settings.inboundRetentionDays)} days.`;
  const main = html`${head(q, { lead })} ${accountTabs(parts)} ${suppressed(findings, now)}
  ${sentSection(findings, now)} ${receivedSection(findings, now)} ${webhookSection(findings)}
  ${accountSection(findings, now)} ${howToErase(parts)}`;
  return { title: q, searched: q, main };
}

/** `7`, or `1,000+` */
function countText({ found, isWhole }: FindingCount): string {
  return count(found, !isWhole);
}

/** `7, newest first`, or `newest 25 of 1,000+`. */
function listText(shown: number, all: FindingCount): string {
  return shown === all.found
    ? `${count(shown)}, newest first`
    : `newest ${count(shown)} of ${countText(all)}`;
}

/** At most so many accounts have a tab. */
const TABS_MAX = 20;

/** A tab for each account with mail or webhooks found, the most first. One account needs no choice. */
function accountTabs({ q, findings, accountId }: LookUpParts): Html | null {
  const { byAccount } = findings;
  if (byAccount.size < 2 && accountId === undefined) return null;
  const all = [...byAccount.values()];
  const total = {
    found: all.reduce((sum, { found }) => sum + found, 0),
    isWhole: all.every((each) => each.isWhole),
  };
  const shown = [...byAccount].filter(([id], index) => index < TABS_MAX || id === accountId);
  const left = byAccount.size - shown.length;
  const links = tabs('Filter by account', [
    {
      name: 'All accounts',
      more: countText(total),
      href: searchPath(q),
      isCurrent: accountId === undefined,
    },
    ...shown.map(([id, number]) => ({
      name: findings.names.get(id) ?? id,
      more: countText(number),
      href: `/search${queryOf({ q, account: id })}`,
      isCurrent: id === accountId,
    })),
  ]);
  return left === 0
    ? links
    : html`${links}
        <p class="small soft">And ${counted(left, 'account')} with fewer</p>`;
}

const KINDS = {
  address: 'this email address',
  messageId: 'this Message-ID',
  domain: 'this domain: recipients, endpoints and sending domains',
  key: 'this key and the mail that it sent',
  other: 'a request with this id and an account with this name',
} as const;

function nothingFound({ q, text, accountId }: LookUpParts, settings: Settings): Page {
  const everywhere =
    accountId === undefined
      ? null
      : html`<p>These are the results of one account. <a href="${searchPath(q)}">Search in all</a>.</p>`;
  const domain = text.kind === 'address' ? text.address.slice(text.address.lastIndexOf('@') + 1) : null;
  const ofDomain =
    domain === null ? null : html`<p>Try the domain: <a href="${searchPath(domain)}">${domain}</a>.</p>`;
  const lead = `The console searched for ${KINDS[text.kind]}. It found nothing.`;
  const main = html`${head(`No results for “${q}”`, { lead })}
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
    </section>
    ${everywhere} ${ofDomain}`;
  return { title: `No results for ${q}`, searched: q, main };
}

/** `suppressions remove` lifts no suppression of one topic: the recipient asked for it. */
function howToLift({ id, accountId, address, topicId, origin }: OwnedSuppression): Html {
  if (topicId !== null)
    return html`Only the account can lift it: <code>DELETE /v1/suppressions/${id}</code>.`;
  const reason = origin === 'complaint' ? ' --reason …' : '';
  return html`An operator lifts it:
    <code
      >postrider suppressions remove --account ${accountId} --address ${shellWord(address)}${reason}</code
    >`;
}

/**
 * Names the command, and the account if only one has data or suppressions of the address. An erasure keeps
 * the suppressions.
 */
function howToErase({ text, findings, accountId }: LookUpParts): Html | null {
  if (text.kind !== 'address') return null;
  const owners = new Set([
    ...findings.byAccount.keys(),
    ...findings.suppressions.map((each) => each.accountId),
  ]);
  const account = accountId ?? (owners.size === 1 ? [...owners][0] : undefined) ?? 'acct_…';
  return html`<p class="hint">
    To delete the data of this person, an operator runs
    <code>postrider account erase ${account} --address ${shellWord(text.address)}</code> for each account.
  </p>`;
}

function suppressed(findings: Findings, now: Date): Html | null {
  const { suppressions, counts, names } = findings;
  if (suppressions.length === 0) return null;
  const lines = suppressions.map((suppression) => {
    const { accountId, topicId, origin, emailId, createdAt } = suppression;
    const cause = emailId === null ? '' : html` from <a href="/emails/${emailId}">an email</a>`;
    const what =
      topicId === null
        ? 'all mail'
        : html`topic ${findings.topics.get(topicId) ?? ''} <code>${topicId}</code>`;
    return html`<p>
      ${accountLink(accountId, names.get(accountId))}: ${what}, origin <code>${origin}</code>${cause}, since
      ${timeAgo(createdAt, now)}. ${howToLift(suppression)}
    </p>`;
  });
  const accounts = new Set(suppressions.map(({ accountId }) => accountId)).size;
  const number = count(accounts, counts.suppressions.found > suppressions.length);
  const suppressedWholly = new Set(
    suppressions.filter(({ topicId }) => topicId === null).map(({ accountId }) => accountId),
  );
  return html`<section class="sec" aria-labelledby="suppressed">
    <div class="note wait">
      <h2 id="suppressed">Suppressed for ${number} ${accounts === 1 ? 'account' : 'accounts'}</h2>
      ${lines}
      ${
        suppressedWholly.size === 0
          ? null
          : html`<p>
              From an account with “all mail”, an email to this address alone ends as
              <code>email.failed</code>. Other emails leave the address out.
            </p>`
      }
      ${
        suppressions.every(({ accountId }) => suppressedWholly.has(accountId))
          ? null
          : html`<p>
              Mail of a suppressed topic leaves this address out. Other mail of its account is sent.
            </p>`
      }
    </div>
  </section>`;
}

function sentSection(findings: Findings, now: Date): Html | null {
  const { emails, names } = findings;
  if (emails.length === 0) return null;
  const rows = emails.map((email) => [
    html`<a href="/emails/${email.id}">${subjectText(email.subject)}</a
      ><span class="sub">${idCode(email.id)}</span>`,
    timeAgo(email.createdAt, now),
    accountLink(email.accountId, names.get(email.accountId)),
    state(emailSign(email.lastEvent), email.lastEvent),
    newestEventCell(email.newestEvent),
  ]);
  const columns = ['Email', 'Stored', 'Account', 'State', 'Newest event, webhooks'];
  return section(
    'sent',
    { title: 'Sent', more: listText(emails.length, findings.counts.emails) },
    html`<div class="card">${stackedTable({ caption: 'Emails sent, newest first', columns, rows })}</div>`,
  );
}

function receivedSection(findings: Findings, now: Date): Html | null {
  const { messages, names } = findings;
  if (messages.length === 0) return null;
  const rows = messages.map((message) => [
    html`<a href="/messages/${message.id}">${subjectText(message.subject)}</a
      ><span class="sub">from ${clipped(message.from)}</span><span class="sub">${idCode(message.id)}</span>`,
    timeAgo(message.receivedAt, now),
    html`${accountLink(message.accountId, names.get(message.accountId))}<span class="sub"
        >${message.receivedFor.join(', ')}</span
      >`,
    message.status === 'held'
      ? html`${state('wait', 'held')}<span class="sub"><code>${message.heldReason ?? ''}</code></span>`
      : state('good', message.status),
    newestEventCell(message.newestEvent),
  ]);
  const columns = ['Message', 'Received', 'Account, inbox', 'State', 'Newest event, webhooks'];
  return section(
    'received',
    { title: 'Received', more: listText(messages.length, findings.counts.messages) },
    html`<div class="card">
      ${stackedTable({ caption: 'Messages received, newest first', columns, rows })}
    </div>`,
  );
}

function webhookSection(findings: Findings): Html | null {
  const { webhooks, names } = findings;
  if (webhooks.length === 0) return null;
  const rows = webhooks.map(({ id, endpoint, accountId, failingSince }) => [
    html`<a href="/webhooks/${id}">${endpointText(endpoint)}</a><span class="sub">${idCode(id)}</span>`,
    accountLink(accountId, names.get(accountId)),
    failingSince === null ? state('good', 'not failing') : state('bad', 'failing'),
  ]);
  const columns = ['Webhook', 'Account', 'State'];
  return section(
    'webhooks',
    { title: 'Webhooks', more: listText(webhooks.length, findings.counts.webhooks) },
    html`<div class="card">${stackedTable({ caption: 'Webhooks at this host', columns, rows })}</div>`,
  );
}

function accountSection({ accounts, counts }: Findings, now: Date): Html | null {
  if (accounts.length === 0) return null;
  const rows = accounts.map(({ id, name, createdAt }) => [
    html`${accountLink(id, name)}<span class="sub">${idCode(id)}</span>`,
    timeAgo(createdAt, now, 'minutes'),
  ]);
  const columns = ['Account', 'Created'];
  return section(
    'accounts',
    { title: 'Accounts', more: listText(accounts.length, counts.accounts) },
    html`<div class="card">${stackedTable({ caption: 'Accounts', columns, rows })}</div>`,
  );
}
