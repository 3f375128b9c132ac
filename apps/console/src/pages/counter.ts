import { html } from '@remix-run/html-template';
import type { WebhookId } from '@postrider/domain';
import { LOAD_COUNTED_MAX } from '@postrider/store';
import type { Html } from '../html/pieces.ts';
import { count } from '../html/words.ts';

/** Formats a count that stops at a maximum. There it shows `10,000+`. */
export function counter(rows: number, countedMax = LOAD_COUNTED_MAX): string {
  return count(rows, rows >= countedMax);
}

/** The number of a webhook's dead letters, with a link to them. */
export function deadLetterLink(
  webhookId: WebhookId,
  deadLetters: number,
  countedMax = LOAD_COUNTED_MAX,
): Html | string {
  if (deadLetters === 0) return '0';
  return html`<a href="/dead-letters?webhook=${webhookId}">${counter(deadLetters, countedMax)}</a>`;
}
