import { createHash } from 'node:crypto';
import { markup } from './markup.ts';
import type { Markup } from './markup.ts';

const STYLE =
  'body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem}' +
  'button{font:inherit;padding:.4rem 1.2rem}pre,code{overflow-wrap:anywhere}pre{white-space:pre-wrap}dd{margin-left:1rem}' +
  'body:has(details){max-width:60rem;margin:2rem auto}details>div{scroll-margin-top:6rem}' +
  'summary h3{display:inline;font:inherit}nav ul{display:flex;flex-wrap:wrap;gap:0 1.2rem;padding:0;list-style:none}' +
  '.skip:not(:focus){position:absolute;left:-99rem}';
/** Not escaped: browsers compare the hash in the header with the text as written. */
const STYLE_ELEMENT = markup.raw`<style>${STYLE}</style>`;

/**
 * Headers of every page. The page loads nothing, runs nothing, cannot be framed, and sends its form only to
 * us. It sends no referrer, and search engines do not list it.
 */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex',
};

/** Renders a complete HTML page. @param before stands before the title, such as links into a long page. */
export function page(title: string, body: Markup, before: Markup | null = null): string {
  return String(markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
${STYLE_ELEMENT}
</head>
<body>
${before}<main id="main">
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`);
}
