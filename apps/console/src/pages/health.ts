import { html } from '@remix-run/html-template';
import type { AttemptDay, OwnedWebhook, WebhookHealth } from '@postrider/store';
import { state } from '../html/pieces.ts';
import type { Html, Sign } from '../html/pieces.ts';
import { ago, DAY_MS, duration } from '../html/words.ts';

/**
 * Failing: several attempts in a row failed. Quiet: no attempt in 24 h. The hourly sums may be two minutes
 * late, so a recent success also counts as healthy. One success ends `failingSince`, even when most attempts
 * fail, so the newest hour with attempts is judged as well.
 */
export function healthOf(
  { failingSince }: Pick<OwnedWebhook, 'failingSince'>,
  health: Pick<WebhookHealth, 'lastSuccessAt'> | undefined,
  day: Pick<AttemptDay, 'attempts' | 'hours'> | undefined,
  now: Date,
): { readonly sign: Sign; readonly word: 'failing' | 'healthy' | 'most attempts fail' | 'quiet' } {
  if (failingSince !== null) return { sign: 'bad', word: 'failing' };
  const newest = day?.hours.findLast(({ attempts }) => attempts > 0);
  if (newest !== undefined && newest.successes < newest.attempts / 2)
    return { sign: 'wait', word: 'most attempts fail' };
  const lastSuccessAt = health?.lastSuccessAt ?? null;
  const isRecent = lastSuccessAt !== null && now.getTime() - lastSuccessAt.getTime() < DAY_MS;
  return (day?.attempts ?? 0) > 0 || isRecent
    ? { sign: 'good', word: 'healthy' }
    : { sign: 'off', word: 'quiet' };
}

/** The state in a table: `failing`, and under it `1 h 31 min, HTTP 503` and `last attempt 5 s ago`. */
export function healthState(
  webhook: Pick<OwnedWebhook, 'failingSince'>,
  health: WebhookHealth | undefined,
  day: AttemptDay | undefined,
  now: Date,
): Html {
  const { sign, word } = healthOf(webhook, health, day, now);
  return html`${state(sign, word)}${explained(webhook, health, word, now)}`;
}

function explained(
  { failingSince }: Pick<OwnedWebhook, 'failingSince'>,
  health: WebhookHealth | undefined,
  word: string,
  now: Date,
): Html | null {
  if (word === 'quiet') return html`<span class="sub">no attempt in 24 h</span>`;
  if (word === 'most attempts fail') return html`<span class="sub">in the newest hour with attempts</span>`;
  if (failingSince === null) return null;
  const error = health?.lastError ?? null;
  const seconds = (now.getTime() - failingSince.getTime()) / 1000;
  return html`<span class="sub">${duration(seconds)}${error === null ? '' : `, ${error}`}</span
    >${lastAttempt(health, now)}`;
}

/**
 * A repaired endpoint counts as failing until its next attempt, so pages show the time of the last attempt.
 */
export function lastAttempt(health: WebhookHealth | undefined, now: Date): Html | null {
  const at = health?.lastAttemptAt ?? null;
  return at === null ? null : html`<span class="sub">last attempt ${ago(at, now)}</span>`;
}
