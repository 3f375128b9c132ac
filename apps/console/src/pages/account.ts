import { html } from '@remix-run/html-template';
import { LIMITS } from '@postrider/domain';
import type { createAccountStore, ApiKey, Domain, OwnedWebhook, WebhookLoad } from '@postrider/store';
import type { Visit } from '../http/serve-page.ts';
import type { Page } from '../html/layout.ts';
import { endpointText, facts, idCode, section, state, timeAgo, wholeId } from '../html/pieces.ts';
import type { Html } from '../html/pieces.ts';
import { numberTable, stackedTable } from '../html/table.ts';
import { ago, count, day, duration } from '../html/words.ts';
import { counter } from './counter.ts';

type AccountDetails = NonNullable<Awaited<ReturnType<ReturnType<typeof createAccountStore>['describe']>>>;

export interface AccountParts {
  readonly account: AccountDetails;
  readonly webhooks: readonly OwnedWebhook[];
  readonly loads: ReadonlyMap<string, WebhookLoad>;
  readonly keys: readonly ApiKey[];
  readonly domains: readonly Domain[];
}

/** What applies to an account without limits of its own. */
export interface AccountSettings {
  readonly webhooksPerAccountMax: number;
  readonly domainsPerAccountMax: number;
  readonly unverifiedDomainsPerAccountMax: number;
  readonly keyRateLimitPerMinute: number;
  readonly deliveriesPerAccountPerSecond: number;
  readonly outstandingDeliveriesPerAccountMax: number;
}

export function accountPage(parts: AccountParts, settings: AccountSettings, visit: Visit): Page {
  const { account } = parts;
  const main = html`<div class="head">
      <div>
        <h1>${account.name}</h1>
        <p class="ids">${wholeId(account.id, 'account id')}</p>
      </div>
      <div class="acts">
        <a class="btn" href="/dead-letters?account=${account.id}">Dead letters</a>
      </div>
    </div>
    <section class="card" aria-label="Facts">${accountFacts(parts, visit.now)}</section>
    ${webhooksSection(parts, settings, visit.now)} ${keysSection(parts, settings, visit.now)}
    <div class="cols">${limitsSection(parts, settings)} ${domainsSection(parts, visit.now)}</div>`;
  return { title: account.name, main };
}

function accountFacts({ account, loads }: AccountParts, now: Date): Html {
  const sum = (of: (load: WebhookLoad) => number) =>
    [...loads.values()].reduce((total, load) => total + of(load), 0);
  const letters = sum((load) => load.deadLetters);
  return facts([
    {
      term: 'Created',
      value: html`${day(account.createdAt)} <span class="rel">${ago(account.createdAt, now)}</span>`,
    },
    { term: 'Outstanding', value: count(sum((load) => load.outstanding)) },
    {
      term: 'Dead letters',
      value: html`<a href="/dead-letters?account=${account.id}">${count(letters)}</a>`,
    },
    { term: 'Held mail', value: html`<a href="/held?account=${account.id}">Show</a>` },
  ]);
}

function webhooksSection(
  { account, webhooks, loads }: AccountParts,
  settings: AccountSettings,
  now: Date,
): Html {
  const max = account.limits.webhooks ?? settings.webhooksPerAccountMax;
  const rows = webhooks.map((webhook) => {
    const load = loads.get(webhook.id);
    return [
      webhookName(webhook),
      webhookState(webhook, now),
      counter(load?.outstanding ?? 0),
      html`<a href="/dead-letters?webhook=${webhook.id}">${counter(load?.deadLetters ?? 0)}</a>`,
    ];
  });
  const table = stackedTable({
    caption: 'Webhooks of the account',
    columns: [
      { label: 'Webhook' },
      { label: 'State' },
      { label: 'Outstanding', isNumber: true },
      { label: 'Dead letters', isNumber: true },
    ],
    rows,
  });
  return section(
    'webhooks',
    { title: 'Webhooks', more: `${count(account.webhooks)} of ${count(max)}` },
    html`<div class="card">${rows.length === 0 ? nothing('This account has no webhook.') : table}</div>`,
  );
}

function webhookName({ id, endpoint, events, ruleId }: OwnedWebhook): Html {
  const types =
    ruleId === null ? (events.length === 0 ? 'all types' : `${events.length} types`) : 'of a routing rule';
  return html`<a href="/webhooks/${id}">${endpointText(endpoint)}</a
    ><span class="sub">${types} · ${idCode(id)}</span>`;
}

function webhookState({ failingSince }: OwnedWebhook, now: Date): Html {
  if (failingSince === null) return state('good', 'not failing');
  const seconds = (now.getTime() - failingSince.getTime()) / 1000;
  return html`${state('bad', 'failing')}<span class="sub">for ${duration(seconds)}</span>`;
}

function keysSection({ keys }: AccountParts, settings: AccountSettings, now: Date): Html {
  const revoked = keys.filter((key) => key.revokedAt !== null).length;
  const rows = keys.map((key) => [
    idCode(key.id),
    key.kind,
    html`${key.scopes.map((scope) => html`<span class="tag">${scope}</span> `)}`,
    `${count(key.rateLimitPerMinute ?? settings.keyRateLimitPerMinute)}/min`,
    day(key.createdAt),
    key.revokedAt === null
      ? state('good', 'active')
      : html`${state('off', 'revoked')} <span class="rel">${ago(key.revokedAt, now)}</span>`,
  ]);
  const table = stackedTable({
    caption: 'Keys of the account',
    columns: [
      { label: 'Key' },
      { label: 'Kind' },
      { label: 'Scopes' },
      { label: 'Limit', isNumber: true },
      { label: 'Created' },
      { label: 'State' },
    ],
    rows,
  });
  return section(
    'keys',
    { title: 'Keys', more: `${count(keys.length)}${revoked === 0 ? '' : `, ${count(revoked)} revoked`}` },
    html`<div class="card">${rows.length === 0 ? nothing('This account has no API key.') : table}</div>`,
  );
}

function limitsSection({ account, domains }: AccountParts, settings: AccountSettings): Html {
  const { limits } = account;
  const row = (name: string, used: number | null, own: number | null, byDefault: number, fixed = false) => [
    name,
    used === null ? '' : count(used),
    count(own ?? byDefault),
    own === null ? html`<span class="soft">${fixed ? 'fixed' : 'default'}</span>` : 'this account',
  ];
  const unverified = domains.filter((domain) => domain.status !== 'verified').length;
  const rows = [
    row('Webhooks', account.webhooks, limits.webhooks, settings.webhooksPerAccountMax),
    row('Sending domains', account.domains, limits.domains, settings.domainsPerAccountMax),
    row('Unverified domains', unverified, limits.unverifiedDomains, settings.unverifiedDomainsPerAccountMax),
    row('Inboxes', account.inboxes, null, LIMITS.inboxes, true),
    row('Deliveries per second', null, null, settings.deliveriesPerAccountPerSecond),
    row('Outstanding deliveries', null, null, settings.outstandingDeliveriesPerAccountMax),
  ];
  const columns = [
    { label: 'Limit' },
    { label: 'In use', isNumber: true },
    { label: 'Maximum', isNumber: true },
    { label: 'Source' },
  ];
  return section(
    'limits',
    { title: 'Limits' },
    html`<div class="card">${numberTable({ caption: 'Limits of the account', columns, rows })}</div>`,
  );
}

function domainsSection({ account, domains }: AccountParts, now: Date): Html {
  const rows = domains.map((domain) => [
    domain.name,
    domain.status === 'verified' ? state('good', domain.status) : state('wait', domain.status),
    timeAgo(domain.createdAt, now, 'minutes'),
  ]);
  const columns = [{ label: 'Domain' }, { label: 'State' }, { label: 'Since' }];
  const table = stackedTable({ caption: 'Sending domains of the account', columns, rows });
  return section(
    'domains',
    { title: 'Domains', more: count(account.domains) },
    html`<div class="card">
      ${rows.length === 0 ? nothing('This account has no sending domain.') : table}
    </div>`,
  );
}

function nothing(text: string): Html {
  return html`<div class="empty"><p>${text}</p></div>`;
}
