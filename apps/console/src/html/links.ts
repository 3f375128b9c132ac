import { html } from '@remix-run/html-template';
import { parseSearchText } from '@postrider/domain';
import type { Html } from './pieces.ts';

/** `?type=email.sent&after=evt_1`, without absent and empty values. */
export function queryOf(values: Readonly<Record<string, string | undefined>>): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if ((value ?? '') !== '') given.set(name, value ?? '');
  return given.size === 0 ? '' : `?${given.toString()}`;
}

/** The search for a text. Half a surrogate pair becomes U+FFFD. */
export function searchPath(text: string): string {
  return `/search${queryOf({ q: text })}`;
}

/** An address, with or without a name, and the search for it. No search finds an overlong address. */
export function addressLink(written: string): Html {
  const address = written.slice(written.lastIndexOf('<') + 1).replace(/>$/, '');
  return parseSearchText(address) === null
    ? html`${written}`
    : html`<a href="${searchPath(address)}">${written}</a>`;
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
