import { html } from '@remix-run/html-template';
import { parseSearchText } from '@postrider/domain';
import type { Html } from './pieces.ts';

/** `?type=email.sent&after=evt_1`, without absent and empty values. */
export function queryOf(values: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    if (value !== undefined && value !== '') query.set(name, value);
  return query.size === 0 ? '' : `?${query.toString()}`;
}

/** The search for a text. Half a surrogate pair becomes U+FFFD. */
export function searchPath(text: string): string {
  return `/search${queryOf({ q: text })}`;
}

/** `Ada <ada@shop.example>` or a bare address, with a link to its search. An overlong one has no link. */
export function addressLink(written: string): Html {
  const address = written.slice(written.lastIndexOf('<') + 1).replace(/>$/, '');
  return parseSearchText(address) === null
    ? html`${written}`
    : html`<a href="${searchPath(address)}">${written}</a>`;
}

/** The page of an account, as a part of a path. The id stands for a name that is not known. */
export function accountCrumb(id: string, name: string | null | undefined) {
  return { href: `/accounts/${id}`, name: name ?? id };
}

export function accountLink(id: string, accountName: string | null | undefined): Html {
  const { href, name } = accountCrumb(id, accountName);
  return html`<a href="${href}">${name}</a>`;
}

const PAGES: Readonly<Record<string, string>> = {
  evt: '/events/',
  wh: '/webhooks/',
  acct: '/accounts/',
  msg: '/messages/',
  em: '/emails/',
  rec: '/recoveries/',
};

/** The page of a thing. Null: it has none. */
export function pagePath(id: string): string | null {
  const path = PAGES[id.split('_')[0] ?? ''];
  return path === undefined ? null : `${path}${id}`;
}
