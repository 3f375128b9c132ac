import type { EventFate, Fate, NewestEvent } from '@postrider/store';
import { html } from '@remix-run/html-template';
import { state } from '../html/pieces.ts';
import type { Html, Sign } from '../html/pieces.ts';
import { count } from '../html/words.ts';

/** How the pages show a fate. */
export const FATES: Readonly<Record<Fate, readonly [Sign, string]>> = {
  waiting: ['wait', 'waiting'],
  retrying: ['wait', 'retrying'],
  delivered: ['good', 'delivered'],
  dead_letter: ['bad', 'dead letter'],
  dropped: ['off', 'dropped'],
  attempts_expired: ['off', 'attempts expired'],
};

/** What became of an event at its webhooks: `1 retrying, 1 dead letter`. */
export function fatesInWords(fates: readonly EventFate[]): Html {
  if (fates.length === 0) return state('off', 'no webhook matched');
  const undelivered = fates.filter(({ fate }) => fate !== 'delivered');
  const words = Object.entries(FATES).flatMap(([fate, [, word]]) => {
    const found = undelivered.filter((each) => each.fate === fate).length;
    return found === 0 ? [] : [`${count(found)} ${word}`];
  });
  if (words.length === 0) return state('good', 'delivered');
  return state(signOf(fates), words.join(', '));
}

function signOf(fates: readonly EventFate[]): Sign {
  const has = (...wanted: Fate[]) => fates.some(({ fate }) => wanted.includes(fate));
  if (has('dead_letter', 'dropped')) return 'bad';
  return has('waiting', 'retrying') ? 'wait' : 'off';
}

/** The newest event of an email or a message, and its state at the webhooks. */
export function newestEventCell(event: NewestEvent | null): Html {
  if (event === null) return state('off', 'no events');
  return html`<a href="/events/${event.id}">${event.type}</a
    ><span class="sub">${fatesInWords(event.fates)} ${deliveredOf(event.fates)}</span>`;
}

/** `1 of 4`: one of the four webhooks with a known fate has the event. */
export function deliveredOf(fates: readonly EventFate[]): Html {
  const { delivered, known } = countFates(fates);
  return fates.length > 0 && known === 0 ? html`unknown` : html`${count(delivered)} of ${count(known)}`;
}

/** How many webhooks got the event, and of how many the fate is known: their attempts are still logged. */
export function countFates(fates: readonly Pick<EventFate, 'fate'>[]): { delivered: number; known: number } {
  const known = fates.filter(({ fate }) => fate !== 'attempts_expired').length;
  return { delivered: fates.filter(({ fate }) => fate === 'delivered').length, known };
}
