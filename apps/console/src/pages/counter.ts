import { html } from '@remix-run/html-template';
import type { WebhookId } from '@postrider/domain';
import { LOAD_COUNTED_MAX } from '@postrider/store';
import type { Html } from '../html/pieces.ts';
import { count } from '../html/words.ts';

/** Formats a count that stops at `LOAD_COUNTED_MAX`. At the maximum it shows `10,000+`. */
export function counter(rows: number): string {
  return count(Math.min(rows, LOAD_COUNTED_MAX), rows >= LOAD_COUNTED_MAX);
}

/** The number of a webhook's dead letters, with a link to them. */
export function deadLetterLink(webhookId: WebhookId, deadLetters: number): Html | string {
  if (deadLetters === 0) return '0';
  return html`<a href="/dead-letters?webhook=${webhookId}">${counter(deadLetters)}</a>`;
}
