import { html } from '@remix-run/html-template';
import type { Account } from '@postrider/store';
import type { Visit } from '../http/serve-page.ts';
import type { Page } from '../html/layout.ts';
import { idCode, timeAgo } from '../html/pieces.ts';
import { stackedTable } from '../html/table.ts';
import { counted } from '../html/words.ts';

export interface SearchParts {
  /** As the user wrote it. */
  readonly q: string;
  readonly accounts: readonly Account[];
}

/** The accounts that a text fits. */
export function searchPage({ q, accounts }: SearchParts, { now }: Visit): Page {
  const rows = accounts.map(({ id, name, createdAt }) => [
    html`<a href="/accounts/${id}">${name}</a><span class="sub">${idCode(id)}</span>`,
    timeAgo(createdAt, now, 'minutes'),
  ]);
  const columns = [{ label: 'Account' }, { label: 'Created' }];
  const found =
    rows.length === 0
      ? html`<div class="empty">
          <b>Nothing found</b>
          <p>The text is no id, and no account has it in its name, as a sending domain or as an inbox.</p>
        </div>`
      : stackedTable({ caption: 'Accounts that fit', columns, rows });
  const main = html`<div class="head">
      <div>
        <h1>${q}</h1>
        <p class="lead">${counted(accounts.length, 'account')} found.</p>
      </div>
    </div>
    <div class="card">${found}</div>`;
  return { title: q, searched: q, main };
}
