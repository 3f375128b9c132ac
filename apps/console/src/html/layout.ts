import { html } from '@remix-run/html-template';
import type { Html, Part } from './pieces.ts';
import { time } from './pieces.ts';

/** A page without its frame. */
export interface Page {
  /** Default: 200. */
  readonly status?: number;
  readonly title: string;
  readonly main: Part;
  /** The navigation entry of this page. */
  readonly current?: NavigationPath;
  /** The text in the search field. */
  readonly searched?: string;
  /** The page loads itself again after this time. */
  readonly refreshSeconds?: number;
  /** The overview has a search field of its own. */
  readonly hasOwnSearch?: boolean;
}

/** Everything that the frame of a page shows. */
export interface Frame {
  /** Null: no user is signed in. */
  readonly user: { readonly name: string; readonly role: string; readonly csrf: string } | null;
  readonly now: Date;
  readonly version: string;
}

const NAVIGATION = {
  '/': 'Overview',
  '/dead-letters': 'Dead letters',
  '/held': 'Held mail',
  '/audit': 'Audit',
} as const;

type NavigationPath = keyof typeof NAVIGATION;

/** The whole document. */
export function documentOf(page: Page, { user, now, version }: Frame): string {
  const document = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>${page.title} · Postrider console</title>
        <link rel="stylesheet" href="/style.css" />
        <script src="/console.js" defer></script>
      </head>
      <body>
        <a class="skip" href="#main">Skip to content</a>
        ${user === null ? null : header(page, user)}
        <main id="main" tabindex="-1">${page.main}</main>
        ${user === null ? null : footer(now, version)}
        <p class="vh" id="said" role="status"></p>
      </body>
    </html>`;
  return String(document)
    .replace(VALUE, (value) => value.replace(BIDI_CONTROLS, (control) => `&#x${codeOf(control)};`))
    .replace(BIDI_CONTROLS, (control) => `\\u${codeOf(control)}`);
}

/**
 * Bidirectional controls reverse the text after them: the name `gpj.exe` would show as `exe.jpg`. The page
 * shows their codes as JSON escapes. So JSON that is copied from the page has the same value.
 */
const BIDI_CONTROLS = /[\u202a-\u202e\u2066-\u2069]/g;
/**
 * The value of a field. The form sends it, so its characters stay. Text outside of tags cannot match: it has
 * `&quot;` for a quote.
 */
const VALUE = / value="[^"]*"/g;

function codeOf(character: string): string {
  return character.charCodeAt(0).toString(16);
}

function header({ current, searched, hasOwnSearch = false }: Page, user: NonNullable<Frame['user']>): Html {
  return html`<div class="bar">
    <header class="top">
      <a class="brand" href="/">${LOGO} Postrider</a>
      <nav aria-label="Main">
        <ul>
          ${Object.entries(NAVIGATION).map(([href, name]) =>
            href === current
              ? html`<li><a href="${href}" aria-current="page">${name}</a></li>`
              : html`<li><a href="${href}">${name}</a></li>`,
          )}
        </ul>
      </nav>
      ${hasOwnSearch ? null : search(searched ?? '')}
      <form class="who" method="post" action="/sign-out">
        <input type="hidden" name="csrf" value="${user.csrf}" />
        <span><b>${user.name}</b> ${user.role}</span>
        <button class="btn plain slim">Sign out</button>
      </form>
    </header>
  </div>`;
}

function search(text: string): Html {
  return html`<form class="find" role="search" action="/search">
    <label class="vh" for="q">Find an id, address, domain or Message-ID</label>
    <input
      id="q"
      name="q"
      type="search"
      value="${text}"
      placeholder="Id, address, domain, Message-ID"
      autocomplete="off"
      autocapitalize="none"
      spellcheck="false"
    />
    <button class="btn">Find</button>
  </form>`;
}

function footer(now: Date, version: string): Html {
  return html`<footer class="foot">
    <span>As of ${time(now, now)} UTC</span>
    <span>All times are UTC</span>
    <span>Postrider ${version}</span>
  </footer>`;
}

const LOGO = html`<svg viewBox="0 0 20 20" aria-hidden="true">
  <path d="M2 10.5 17.5 3 14 17l-4.2-4.2L13 8l-5.2 3.6z" fill="currentColor" />
  <path d="M1.5 14h4M2.5 17h4" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" />
</svg>`;
