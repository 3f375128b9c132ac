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

/** `Ada <ada@shop.example>` or a bare address, with a link to its search. An overlong address has no link. */
export function addressLink(written: string): Html {
  const address = written.slice(written.lastIndexOf('<') + 1).replace(/>$/, '');
  return parseSearchText(address) === null
    ? html`${written}`
    : html`<a href="${searchPath(address)}">${written}</a>`;
}

/** A breadcrumb: the link to an account's page. If the name is not known, it shows the id. */
export function accountCrumb(id: string, name: string | null | undefined) {
  return { href: `/accounts/${id}`, name: name ?? id };
}

export function accountLink(id: string, accountName: string | null | undefined): Html {
  const { href, name } = accountCrumb(id, accountName);
  return html`<a href="${href}">${name}</a>`;
}

/** The path of the page about an object, by the prefix of the object's id. */
const PAGES: Readonly<Record<string, string>> = {
  evt: '/events/',
  wh: '/webhooks/',
  acct: '/accounts/',
  msg: '/messages/',
  em: '/emails/',
  rec: '/recoveries/',
};

/** The path of the page about the object with this id. Null: such objects have no page. */
export function pagePath(id: string): string | null {
  const path = PAGES[id.split('_')[0] ?? ''];
  return path === undefined ? null : `${path}${id}`;
}
