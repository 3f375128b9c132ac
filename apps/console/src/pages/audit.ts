import { html } from '@remix-run/html-template';
import type { AccountId } from '@postrider/domain';
import { AUDIT_ACTIONS } from '@postrider/store';
import type { ListedAuditEntry, Page as ListPage } from '@postrider/store';
import type { Visit } from '../http/serve-page.ts';
import { choiceField, timeField, timeHint } from '../html/form.ts';
import type { Page } from '../html/layout.ts';
import { pagePath } from '../html/links.ts';
import { olderOf, pager, shownOf } from '../html/list.ts';
import { empty, head, idCode, idLink, timeAgo } from '../html/pieces.ts';
import type { Html } from '../html/pieces.ts';
import { stackedTable } from '../html/table.ts';
import { count, counted, writtenTime } from '../html/words.ts';
import type { Settings } from '../settings.ts';

interface AuditFilter {
  readonly who?: string | undefined;
  readonly account?: string | undefined;
  readonly action?: string | undefined;
  readonly target?: string | undefined;
  readonly since?: Date | undefined;
}

export interface AuditParts {
  readonly filter: AuditFilter;
  readonly page: ListPage<ListedAuditEntry>;
  /** The names of the accounts in the entries. */
  readonly names: ReadonlyMap<AccountId, string>;
  /** False: `page` is a later page of the list. */
  readonly isFirst: boolean;
}

export function auditPage(parts: AuditParts, settings: Settings, { now }: Visit): Page {
  const { filter, page, isFirst } = parts;
  const shown = shownOf(isFirst, counted(page.entries.length, 'entry', 'entries'));
  const older = olderOf(page, '/audit', { ...filter, since: writtenTime(filter.since) });
  const list =
    page.entries.length === 0
      ? empty(
          'No entry matches',
          `${filter.who === undefined ? '' : 'A name is compared with its case: ada is not Ada. '}Postrider records replays, recoveries, releases, erasures, and changes of keys, accounts and domains.`,
        )
      : entryTable(parts, now);
  const lead = html`Who did what. Postrider writes each entry in the same transaction as the action and keeps
  it for ${count(settings.auditRetentionDays)} days.`;
  const main = html`${head('Audit', { lead })} ${filterForm(filter)}
    <div class="card">${list} ${pager(shown, older)}</div>`;
  return { title: 'Audit', current: '/audit', main };
}

function filterForm({ who, account, action, target, since }: AuditFilter): Html {
  return html`<form class="card filters" action="/audit" aria-label="Filter the audit">
    <div class="fields">
      <div>
        <label for="a-who">Who</label>
        <input id="a-who" name="who" value="${who ?? ''}" placeholder="name or key id" autocomplete="off" />
      </div>
      <div>
        <label for="a-account">Account</label>
        <input
          id="a-account"
          name="account"
          value="${account ?? ''}"
          placeholder="id or name"
          autocomplete="off"
        />
      </div>
      ${choiceField('a-what', { name: 'action', label: 'Action', values: AUDIT_ACTIONS, chosen: action })}
      <div>
        <label for="a-target">Target</label>
        <input id="a-target" name="target" value="${target ?? ''}" placeholder="any id" autocomplete="off" />
      </div>
      ${timeField('a-since', { name: 'since', label: 'Since', value: since, placeholder: '2026-11-20' })}
      <div class="acts"><button class="btn">Show</button><a class="btn plain" href="/audit">Clear</a></div>
    </div>
    ${timeHint}
  </form>`;
}

const FROM = { cli: 'CLI', key: 'API', console: 'console' };

function entryTable({ page, names }: AuditParts, now: Date): Html {
  const rows = page.entries.map((entry) => [
    html`<code>${entry.action}</code>`,
    timeAgo(entry.createdAt, now),
    html`<b>${entry.actorKind === 'key' ? idCode(entry.actor) : entry.actor}</b
      ><span class="sub">${FROM[entry.actorKind]}</span>`,
    target(entry, names),
    // A recovery records `has_more` when its count was cut. Then the count has a `+`.
    count(entry.count, entry.after?.['has_more'] === true),
    change(entry),
  ]);
  return stackedTable({
    caption: 'Audit, newest first',
    columns: ['Action', 'When', 'Who', 'Target', { label: 'Count', isNumber: true }, 'Change or note'],
    rows,
  });
}

function target({ target: id, accountId }: ListedAuditEntry, names: AuditParts['names']): Html {
  const path = pagePath(id);
  const name = accountId === null ? undefined : names.get(accountId);
  const sub = name === undefined ? null : html`<span class="sub">${name}</span>`;
  return html`${path === null ? idCode(id) : idLink(id, path)}${sub}`;
}

function change({ before, after, note }: ListedAuditEntry): Html | string {
  const old = before === null ? null : html`<code>${inWords(before)}</code>`;
  const fresh = after === null ? null : html`<code>${inWords(after)}</code>`;
  const words = old !== null && fresh !== null ? html`${old} to ${fresh}` : (old ?? fresh);
  if (words === null && note === null) return '';
  return html`${words}${note === null ? null : html`<span class="sub">${note}</span>`}`;
}

/** `domains 100, webhooks none` */
function inWords(values: Readonly<Record<string, unknown>>): string {
  const wordOf = (value: unknown) => {
    if (value === null) return 'none';
    return typeof value === 'string' ? value : JSON.stringify(value);
  };
  return Object.entries(values)
    .map(([name, value]) => `${name} ${wordOf(value)}`)
    .join(', ');
}
