import { html } from '@remix-run/html-template';
import type { ListPosition, Page } from '@postrider/store';
import { queryOf } from './links.ts';
import { empty } from './pieces.ts';
import type { Html } from './pieces.ts';
import { count } from './words.ts';

/** The path of the next page of a list; null: the list ends here. */
export function olderOf(
  { entries, hasMore }: Page<{ readonly id: string | number }>,
  path: string,
  query: Readonly<Record<string, string | undefined>>,
): string | null {
  const last = entries.at(-1);
  return hasMore && last !== undefined ? `${path}${queryOf({ ...query, after: String(last.id) })}` : null;
}

/** A position in the path of a next page: its time in milliseconds and its id. */
export function positionText({ createdAt, id }: ListPosition): string {
  return `${createdAt.getTime()}-${id}`;
}

/** `The newest 50 events`; `50 events` on a later page. */
export function shownOf(isFirst: boolean, words: string): string {
  return isFirst ? `The newest ${words}` : words;
}

/** The line under a list. @param older the path of the next page; null: the list ends here */
export function pager(shown: string, older: string | null): Html {
  return html`<div class="pager">
    <span>${shown}</span>${older === null ? null : html` <a class="btn slim" href="${older}">Older</a>`}
  </div>`;
}

/**
 * Stands where no entry matches among those that the list looked at. Older entries may match.
 *
 * @param older the path of the next page. @param all the path without a filter
 */
export function noneLookedAt(
  isFirst: boolean,
  lookedAt: number,
  { older, all }: { readonly older: string; readonly all: string },
): Html {
  return empty(
    `None of the ${isFirst ? 'newest' : 'next'} ${count(lookedAt)} matches`,
    html`<a href="${older}">Look at older ones</a>, or <a href="${all}">show all</a>.`,
  );
}

/** Links that filter a list. */
export function tabs(
  label: string,
  entries: readonly {
    readonly name: string;
    /** Follows the name, such as a count. */
    readonly more?: string;
    readonly href: string;
    readonly isCurrent: boolean;
  }[],
): Html {
  const links = entries.map(({ name, more, href, isCurrent }) => {
    const words = more === undefined ? html`${name}` : html`${name} <span>${more}</span>`;
    return isCurrent
      ? html`<li><a href="${href}" aria-current="true">${words}</a></li>`
      : html`<li><a href="${href}">${words}</a></li>`;
  });
  return html`<nav class="tabs" aria-label="${label}">
    <ul>
      ${links}
    </ul>
  </nav>`;
}
