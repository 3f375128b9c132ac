import { html } from '@remix-run/html-template';
import type { SafeHtml } from '@remix-run/html-template';
import { ago, clockTime, moment } from './words.ts';
import type { Precision } from './words.ts';

export type Html = SafeHtml;
/** A part of a page. Text is escaped. */
export type Part = Html | string;

/**
 * `good`, a green dot: all is well. `wait`, an amber ring: it changes by itself. `bad`, a red diamond: a
 * person must act. `off`, a grey dash: none of these.
 */
export type Sign = 'good' | 'wait' | 'bad' | 'off';

export function state(sign: Sign, word: string, shape: 'pill' | 'plain' = 'plain'): Html {
  return html`<span class="st ${sign}${shape === 'pill' ? ' pill' : ''}">${word}</span>`;
}

const ID_END_CHARACTERS = 7;

/** CSS may shorten the first part. The last characters are always visible, and the text stays complete. */
function idText(id: string): Html {
  const at = Math.max(0, id.length - ID_END_CHARACTERS);
  return html`<span>${id.slice(0, at)}</span>${id.slice(at)}`;
}

export function idCode(id: string): Html {
  return html`<code class="id">${idText(id)}</code>`;
}

/** An id under the title of a page, with a Copy button. @param what names the id in the button's label */
export function wholeId(id: string, what: string): Html {
  return html`<code class="id whole" data-copy="${what}">${idText(id)}</code>`;
}

export function idLink(id: string, href: string): Html {
  return html`<a class="id" href="${href}">${idText(id)}</a>`;
}

/** An endpoint without its scheme. It may break after each dot and slash. */
export function endpointText(endpoint: string): Html {
  const parts = endpointName(endpoint).split(/(?<=[./])/);
  return html`${parts.map((part, at) => (at === 0 ? html`${part}` : html`<wbr />${part}`))}`;
}

/** `hooks.shop.example.com/postrider` */
export function endpointName(endpoint: string): string {
  return endpoint.replace(/^https:\/\//, '');
}

/** Stands where a list has no entries. */
export function empty(title: string, text: Part | null): Html {
  return html`<div class="empty">
    <b>${title}</b>
    <p>${text}</p>
  </div>`;
}

/** Stands where a short list has no entries. */
export function emptyLine(text: string): Html {
  return html`<div class="empty"><p>${text}</p></div>`;
}

/** A time as a machine and a person read it. */
export function time(at: Date, now: Date, precision: Precision = 'seconds'): Html {
  return html`<time datetime="${at.toISOString()}">${moment(at, now, precision)}</time>`;
}

/** The time without its date. The page shows the date beside it. */
export function timeOfDay(at: Date): Html {
  return html`<time datetime="${at.toISOString()}">${clockTime(at, 'milliseconds')}</time>`;
}

export function timeAgo(at: Date, now: Date, precision: Precision = 'seconds'): Html {
  return html`${time(at, now, precision)} <span class="rel">${ago(at, now)}</span>`;
}

/** Text of a stranger, with its line feeds. HTML drops the first line feed of a `pre`, so one is added. */
export function preformatted(text: string, label: string): Html {
  return html`<pre class="text" tabindex="0" role="group" aria-label="${label}">${`\n${text}`}</pre>`;
}

export interface Fact {
  readonly term: string;
  readonly value: Part;
  /** Takes the whole width. */
  readonly full?: boolean;
}

/** Names and values on a card. */
export function facts(entries: readonly Fact[], columns: 'fill' | 'four' = 'fill'): Html {
  return html`<dl class="facts ${columns}">
    ${entries.map(
      ({ term, value, full = false }) =>
        html`<div class="${full ? 'full' : ''}">
          <dt>${term}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}

/** A section with its heading. @param more follows the title in grey */
export function section(
  id: string,
  { title, more, side }: { readonly title: string; readonly more?: string; readonly side?: Part | null },
  content: Part,
): Html {
  const heading = html`<h2 id="${id}">
    ${title} ${more === undefined ? null : html`<span>${more}</span>`}
  </h2>`;
  return html`<section class="sec" aria-labelledby="${id}">
    <div class="sec-head">${heading} ${side ?? null}</div>
    ${content}
  </section>`;
}

/** The head of a page: its title, a line below the title, and what stands beside both. */
export function head(
  title: Part,
  below: { readonly lead: Part } | { readonly ids: Part },
  side?: Html | null,
): Html {
  const [cssClass, line] = 'lead' in below ? ['lead', below.lead] : ['ids', below.ids];
  return html`<div class="head">
    <div>
      <h1>${title}</h1>
      <p class="${cssClass}">${line}</p>
    </div>
    ${side ?? null}
  </div>`;
}

/** The path to a page: the pages above it, then its own name. */
export function crumbs(
  above: readonly { readonly href: string; readonly name: string }[],
  own: string,
): Html {
  return html`<nav class="crumbs" aria-label="Path">
    <ol>
      ${above.map(({ href, name }) => html`<li><a href="${href}">${name}</a></li>`)}
      <li aria-current="page">${own}</li>
    </ol>
  </nav>`;
}
