import { html } from '@remix-run/html-template';
import type { StoryAttempt, StoryReplay, StoryWebhook } from '@postrider/store';
import { idCode, preformatted, state } from '../html/pieces.ts';
import type { Html } from '../html/pieces.ts';
import { withGaps } from '../html/timeline.ts';
import type { Step } from '../html/timeline.ts';
import { bytes, count } from '../html/words.ts';
import { ACTED_THROUGH } from './actions.ts';

/**
 * The attempts of a webhook and its replays, by time. So a series of attempts follows the replay that began
 * it.
 */
export function attemptSteps(webhook: StoryWebhook): Step[] {
  const replays = webhook.replays.flatMap(replaySteps);
  const attempts = webhook.attemptsByDelivery.flatMap(seriesSteps);
  const steps = [...replays, ...attempts].sort((one, other) => one.at.getTime() - other.at.getTime());
  return withGaps(steps);
}

function replaySteps({ at, by, note, target, isOfMany, deadLetter }: StoryReplay): Step[] {
  const words = note === null ? null : html`Note: ${note}.`;
  const replayed: Step = {
    at,
    sign: 'hand',
    isEnd: true,
    content: html`<p>
        <b>Replayed</b> by ${by.name}
        ${ACTED_THROUGH[by.kind]}${isOfMany ? ', with other events of the webhook' : ''}
      </p>
      <p class="small soft">${words} <a href="/audit?target=${target}">Audit entry</a></p>`,
  };
  if (deadLetter === null) return [replayed];
  const givenUp: Step = {
    at: deadLetter.createdAt,
    sign: 'bad',
    isEnd: true,
    content: html`<p>
        <b>Given up</b>: <code>${deadLetter.reason}</code>, last error <code>${deadLetter.lastError}</code>
      </p>
      <p class="small soft">Dead letter ${idCode(deadLetter.id)}, deleted by the replay</p>`,
  };
  return [givenUp, replayed];
}

function seriesSteps(attempts: readonly StoryAttempt[]): Step[] {
  return attempts.map((attempt, index) => {
    const before = attempts[index - 1];
    const same = attempts.slice(0, index).find((earlier) => isSameAnswer(earlier, attempt));
    return {
      at: attempt.startedAt,
      sign: isSuccess(attempt) ? 'good' : 'bad',
      ...(before === undefined ? {} : { afterMs: attempt.startedAt.getTime() - before.startedAt.getTime() }),
      content: attemptContent(attempt, same),
      isWhole: true,
    };
  });
}

export function isSuccess({ statusCode, error }: StoryAttempt): boolean {
  return error === null && statusCode !== null && statusCode >= 200 && statusCode < 300;
}

function isSameAnswer(earlier: StoryAttempt, { answer }: StoryAttempt): boolean {
  return (
    answer !== null &&
    answer.length > 0 &&
    earlier.answer !== null &&
    Buffer.compare(earlier.answer, answer) === 0
  );
}

const PEEK_CHARACTERS = 60;

function attemptContent(attempt: StoryAttempt, same: StoryAttempt | undefined): Html {
  const { answer } = attempt;
  if (answer === null || answer.length === 0)
    return html`<div class="what try">${summary(attempt, html`no response`)}</div>`;
  if (same !== undefined)
    return html`<div class="what try">${summary(attempt, html`same response as ${same.attempt}`)}</div>`;
  // Bytes that are not UTF-8 become U+FFFD. HTML cannot have NUL, so NUL becomes U+FFFD, too.
  const text = answer.toString('utf8').replaceAll('\0', '\uFFFD');
  const peek = html`${bytes(answer.length)}
    <span class="mono">${text.slice(0, PEEK_CHARACTERS).replace(/\s+/g, ' ')}</span>`;
  return html`<details class="what">
    <summary class="try">${summary(attempt, peek)}</summary>
    ${preformatted(text, `Response to attempt ${attempt.attempt}`)}
  </details>`;
}

function summary(attempt: StoryAttempt, peek: Html): Html {
  const { statusCode, error, durationMs, startedAt } = attempt;
  const result = error ?? (statusCode === null ? 'no response' : `HTTP ${statusCode}`);
  const signedAt = Math.floor(startedAt.getTime() / 1000); // the signature has whole seconds
  return html`<span class="soft"><span class="vh">Attempt </span>${attempt.attempt}</span>
    ${state(isSuccess(attempt) ? 'good' : 'bad', result)}
    <span class="ms">${count(durationMs)} ms</span>
    <span class="rest">
      <span class="sig"><span class="word">signed </span><span class="mono">t=${signedAt}</span></span>
      <span class="peek">${peek}</span>
    </span>`;
}
