/**
 * A template tag for HTML. It escapes every inserted text. A formatter would format a template with the tag
 * `html` and so change the page.
 */
export { html as markup } from '@remix-run/html-template';
export type { SafeHtml as Markup } from '@remix-run/html-template';
