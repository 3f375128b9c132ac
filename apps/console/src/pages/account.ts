import { html } from '@remix-run/html-template';
import { LIMITS } from '@postrider/domain';
import { HELD_OF_ACCOUNT_COUNTED_MAX } from '@postrider/store';
import type {
  AccountDetails,
  ApiKey,
  AttemptDay,
  Domain,
  ListedAuditEntry,
  OwnedWebhook,
  WebhookHealth,
} from '@postrider/store';
import type { Visit } from '../http/serve-page.ts';
import type { Page } from '../html/layout.ts';
import {
  emptyLine,
  endpointText,
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
import { numberTable, stackedTable } from '../html/table.ts';
import { ago, count, counted, day, duration, latency } from '../html/words.ts';
import { failurePlot, latencyPlot, latestP95, successRate } from '../html/plot.ts';
import type { Settings } from '../settings.ts';
import { actionsSection } from './actions.ts';
import { counter, deadLetterLink } from './counter.ts';
import { domainName, domainState } from './domain-cells.ts';
import { healthState } from './health.ts';

export interface AccountParts {
  readonly account: AccountDetails;
  /** The first 100. */
  readonly webhooks: readonly OwnedWebhook[];
  /** By webhook id. A webhook that was deleted meanwhile is absent. */
  readonly health: ReadonlyMap<string, WebhookHealth>;
  /** The counts in `health` stop at this number. */
  readonly countedMax: number;
  /** The attempts of the last 24 hours, by webhook id. */
  readonly days: ReadonlyMap<string, AttemptDay>;
  /** Attempts at all webhooks of the account. */
  readonly attemptsLastMinute: number;
  readonly heldMessages: number;
  readonly keys: readonly ApiKey[];
  /** The first 100. */
  readonly domains: readonly Domain[];
  /** The latest actions only. */
  readonly actions: readonly ListedAuditEntry[];
}

export function accountPage(parts: AccountParts, settings: Settings, visit: Visit): Page {
  const { account } = parts;
  const pill =
    account.suspendedAt === null ? state('good', 'active', 'pill') : state('bad', 'suspended', 'pill');
  const ids = html`${pill} ${wholeId(account.id, 'account id')}`;
  // On /recover, `webhook` may be an account id. It stands for all webhooks of the account.
  const acts = html`<div class="acts">
    <a class="btn" href="/dead-letters?account=${account.id}">Dead letters</a>
    ${visit.mayAct ? html`<a class="btn" href="/recover?webhook=${account.id}">Recover…</a>` : null}
  </div>`;
  const main = html`${head(account.name, { ids }, acts)} ${suspension(account, visit.now)}
    <section class="card" aria-label="Facts">${accountFacts(parts, settings, visit.now)}</section>
    ${webhooksSection(parts, settings, visit.now)} ${keysSection(parts, settings, visit.now)}
    <div class="cols">
      ${limitsSection(parts, settings)}
      <div class="col">
        ${domainsSection(parts, visit.now)}
        ${actionsSection(parts.actions, parts.keys, `/audit?account=${account.id}`, visit.now)}
      </div>
    </div>`;
  return { title: account.name, main };
}

function suspension({ suspendedAt }: AccountDetails, now: Date): Html | null {
  if (suspendedAt === null) return null;
  return html`<div class="note bad">
    <p>
      <b>Suspended since ${timeAgo(suspendedAt, now)}.</b> The API refuses the keys of the account. Mail that
      is queued waits for <code>account resume</code>, about an hour. Then it fails. Recoveries wait, too.
      Postrider still delivers the account's events.
    </p>
  </div>`;
}

/** The sum of counts over the shown webhooks. Cut sums have a `+`. */
function total(parts: AccountParts, numberOf: (each: WebhookHealth) => number): string {
  const numbers = [...parts.health.values()].map(numberOf);
  const isCut = lacksWebhooks(parts) || numbers.some((number) => number >= parts.countedMax);
  return count(sum(numbers), isCut);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}

/** The page does not show all webhooks. */
function lacksWebhooks({ account, webhooks }: AccountParts): boolean {
  return account.webhooks > webhooks.length;
}

function accountFacts(parts: AccountParts, settings: Settings, now: Date): Html {
  const { account, attemptsLastMinute, heldMessages } = parts;
  return facts([
    {
      term: 'Created',
      value: html`${day(account.createdAt)} <span class="rel">${ago(account.createdAt, now)}</span>`,
    },
    {
      term: 'Notices go to',
      value:
        account.noticeEmail === null
          ? html`<span class="soft">nobody</span>`
          : html`<code>${account.noticeEmail}</code>`,
    },
    {
      term: 'Dead letters',
      value: html`<a href="/dead-letters?account=${account.id}"
        >${total(parts, ({ deadLetters }) => deadLetters)}</a
      >`,
    },
    {
      term: 'Dead letters deleted by retention',
      value: count(
        sum(parts.webhooks.map(({ deadLettersDropped }) => deadLettersDropped)),
        lacksWebhooks(parts),
      ),
    },
    {
      term: 'Held mail',
      value: html`<a href="/held?account=${account.id}"
        >${count(heldMessages, heldMessages >= HELD_OF_ACCOUNT_COUNTED_MAX)}</a
      >`,
    },
    {
      term: 'Outstanding',
      value: html`${total(parts, ({ outstanding }) => outstanding)}
        <span class="rel">of ${count(settings.outstandingDeliveriesPerAccountMax)}</span>`,
    },
    { term: 'Attempts, last minute', value: count(attemptsLastMinute) },
  ]);
}

function webhooksSection(parts: AccountParts, settings: Settings, now: Date): Html {
  const { account, webhooks, health, days, countedMax } = parts;
  const max = account.limits.webhooks ?? settings.webhooksPerAccountMax;
  const rows = webhooks.map((webhook) => {
    const ownHealth = health.get(webhook.id);
    const attempts = days.get(webhook.id);
    return [
      webhookName(webhook),
      healthState(webhook, ownHealth, attempts, now),
      attempts === undefined ? '' : successCell(attempts),
      attempts === undefined ? '' : latencyCell(attempts),
      counter(ownHealth?.outstanding ?? 0, countedMax),
      deadLetterLink(webhook.id, ownHealth?.deadLetters ?? 0, countedMax),
    ];
  });
  const table = stackedTable({
    caption: 'Webhooks of the account',
    columns: [
      'Webhook',
      'State',
      'Successful attempts, 24 h',
      'p95 by hour, latest',
      { label: 'Outstanding', isNumber: true },
      { label: 'Dead letters', isNumber: true },
    ],
    rows,
  });
  const side = html`<p class="key">
    <span>answered with 2xx</span><span class="no">failed, share of each hour</span>
  </p>`;
  return section(
    'webhooks',
    { title: 'Webhooks', more: `${count(account.webhooks)} of ${count(max)}`, side },
    html`<div class="card">${rows.length === 0 ? emptyLine('This account has no webhook.') : table}</div>`,
  );
}

function webhookName({ id, endpoint, events, domains, ruleId }: OwnedWebhook): Html {
  const types = events.length === 0 ? 'all types' : counted(events.length, 'type');
  const what = ruleId === null ? types : 'of a routing rule';
  const only = domains === null ? '' : `, ${counted(domains.length, 'domain')}`;
  return html`<a href="/webhooks/${id}">${endpointText(endpoint)}</a
    ><span class="sub">${what}${only} · ${idCode(id)}</span>`;
}

function successCell(attempts: AttemptDay): Html {
  return html`<span class="spark"><b>${successRate(attempts)}</b>${failurePlot(attempts, 'spark')}</span>`;
}

function latencyCell(attempts: AttemptDay): Html {
  const latest = latestP95(attempts);
  if (latest === null) return html`<span class="soft">none</span>`;
  return html`<span class="spark"><b>${latency(latest)}</b>${latencyPlot(attempts, 'spark')}</span>`;
}

const KEYS_SHOWN_MAX = 100;

function keysSection({ keys }: AccountParts, settings: Settings, now: Date): Html {
  const revoked = keys.filter((key) => key.revokedAt !== null).length;
  const shown = keys.slice(0, KEYS_SHOWN_MAX);
  const shownOf = shown.length < keys.length ? `${count(shown.length)} of ` : '';
  const rows = shown.map((key) => [
    key.name === null ? idCode(key.id) : html`${key.name}<span class="sub">${idCode(key.id)}</span>`,
    key.kind,
    html`${key.scopes.map((scope) => html`<span class="tag">${scope}</span> `)}`,
    `${count(key.rateLimitPerMinute ?? settings.keyRateLimitPerMinute)}/min`,
    key.lastUsedAt === null
      ? html`<span class="soft">never</span>`
      : html`${time(key.lastUsedAt, now, 'minutes')} <span class="rel">${ago(key.lastUsedAt, now)}</span>`,
    expiry(key, now),
  ]);
  const table = stackedTable({
    caption: 'Keys of the account',
    columns: ['Key', 'Kind', 'Scopes', { label: 'Limit', isNumber: true }, 'Last use', 'Expires'],
    rows,
  });
  return section(
    'keys',
    {
      title: 'Keys',
      more: `${shownOf}${count(keys.length)}${revoked === 0 ? '' : `, ${count(revoked)} revoked`}`,
      side: html`<p class="small soft">Last use is precise to the hour</p>`,
    },
    html`<div class="card">${rows.length === 0 ? emptyLine('This account has no API key.') : table}</div>`,
  );
}

function expiry({ revokedAt, expiresAt }: ApiKey, now: Date): Html {
  if (revokedAt !== null) {
    return html`${state('off', 'revoked')} <span class="rel">${ago(revokedAt, now)}</span>`;
  }
  if (expiresAt === null) return html`never`;
  if (expiresAt <= now)
    return html`${state('off', 'expired')} <span class="rel">${ago(expiresAt, now)}</span>`;
  const seconds = (expiresAt.getTime() - now.getTime()) / 1000;
  return html`${day(expiresAt)} <span class="rel">in ${duration(seconds)}</span>`;
}

interface AccountLimit {
  readonly name: string;
  readonly used: string;
  readonly max: number;
  /** `default`: a setting of the installation. `fixed`: the same in every installation. */
  readonly source: 'this account' | 'default' | 'fixed';
}

function limitsOf(parts: AccountParts, settings: Settings): AccountLimit[] {
  const { account, domains } = parts;
  const { limits } = account;
  const unverified = domains.filter((domain) => domain.status !== 'verified').length;
  return [
    {
      name: 'Webhooks',
      used: count(account.webhooks),
      ...ownOrDefault(limits.webhooks, settings.webhooksPerAccountMax),
    },
    {
      name: 'Sending domains',
      used: count(account.domains),
      ...ownOrDefault(limits.domains, settings.domainsPerAccountMax),
    },
    {
      name: 'Unverified domains',
      used: count(unverified, account.domains > domains.length),
      ...ownOrDefault(limits.unverifiedDomains, settings.unverifiedDomainsPerAccountMax),
    },
    { name: 'Inboxes', used: count(account.inboxes), max: LIMITS.inboxes, source: 'fixed' },
    {
      name: 'Outstanding deliveries',
      used: total(parts, (each) => each.outstanding),
      max: settings.outstandingDeliveriesPerAccountMax,
      source: 'default',
    },
  ];
}

function ownOrDefault(own: number | null, byDefault: number): Pick<AccountLimit, 'max' | 'source'> {
  return own === null ? { max: byDefault, source: 'default' } : { max: own, source: 'this account' };
}

function limitsSection(parts: AccountParts, settings: Settings): Html {
  const rows = limitsOf(parts, settings).map(({ name, used, max, source }) => [
    name,
    used,
    count(max),
    source === 'this account' ? source : html`<span class="soft term">${source}</span>`,
  ]);
  const columns = [
    'Limit',
    { label: 'In use', isNumber: true },
    { label: 'Maximum', isNumber: true },
    'Source',
  ];
  return section(
    'limits',
    { title: 'Limits' },
    html`<div class="card">${numberTable({ caption: 'Limits of the account', columns, rows })}</div>`,
  );
}

function domainsSection({ account, domains }: AccountParts, now: Date): Html {
  const rows = domains.map((domain) => [
    domainName(domain),
    domainState(domain),
    timeAgo(domain.createdAt, now, 'minutes'),
  ]);
  const columns = ['Domain', 'State', 'Added'];
  const table = stackedTable({ caption: 'Sending domains of the account', columns, rows });
  return section(
    'domains',
    { title: 'Domains', more: count(account.domains) },
    html`<div class="card">
      ${rows.length === 0 ? emptyLine('This account has no sending domain.') : table}
    </div>`,
  );
}
