import { html } from '@remix-run/html-template';
import type { StoryWebhook } from '@postrider/store';
import { formTokens } from '../http/serve-form.ts';
import type { Visit } from '../http/serve-page.ts';
import { endpointName, endpointText, idCode, section, state, time } from '../html/pieces.ts';
import type { Html, Part } from '../html/pieces.ts';
import { timeline } from '../html/timeline.ts';
import type { Step } from '../html/timeline.ts';
import { ago, count, counted, dayAfter, duration } from '../html/words.ts';
import type { Settings } from '../settings.ts';
import { attemptPlot } from './attempt-plot.ts';
import { attemptSteps } from './attempt-steps.ts';
import type { EventParts } from './event-parts.ts';
import { FATES } from './fates.ts';

/** Each webhook's delivery, the most urgent first. */
export function deliveriesSection(parts: EventParts, settings: Settings, visit: Visit): Html {
  const { webhooks, lacksAttempts } = parts.story;
  if (webhooks.length === 0) return html``;
  const articles = webhooks.map((webhook, index) =>
    article({ webhook, parts, settings, visit, label: `d${index + 1}` }),
  );
  const cut = lacksAttempts
    ? html`<div class="note wait">
        <p><b>This event has more than 1,000 attempts.</b> The page shows the newest.</p>
      </div>`
    : null;
  return section(
    'deliveries',
    {
      title: 'Deliveries',
      more: counted(webhooks.length, 'webhook'),
      side: html`<p class="small soft">Most urgent first</p>`,
    },
    html`${cut}
      <div class="card">${articles}</div>`,
  );
}

interface ArticleParts {
  readonly webhook: StoryWebhook;
  readonly parts: EventParts;
  readonly settings: Settings;
  readonly visit: Visit;
  readonly label: string;
}

function article(given: ArticleParts): Html {
  const { webhook, visit, label } = given;
  const isPending = webhook.fate === 'waiting' || webhook.fate === 'retrying';
  const [sign, word] = FATES[webhook.fate];
  const steps = [...attemptSteps(webhook), ...nextStep(webhook)];
  return html`<article class="dlv" aria-labelledby="${label}">
    <header>
      <h3 id="${label}">${name(given)} ${state(sign, word, 'pill')}</h3>
      ${isPending ? html`<p class="small soft">Replay has no effect while the event is pending</p>` : null}
    </header>
    <p>${explanation(given)}</p>
    ${attemptPlot(webhook, visit.now)} ${steps.length === 0 ? null : timeline(steps)}
    ${isPending ? null : replayForm(given)}
  </article>`;
}

/** The retry that is due. */
function nextStep({ nextAttemptAt: at, fate, attempts }: StoryWebhook): Step[] {
  if (at === null || fate !== 'retrying') return [];
  return [{ at, sign: 'wait', content: html`<p class="soft">Attempt ${attempts + 1} is due</p>` }];
}

function name({ webhook, parts }: ArticleParts): Html {
  if (webhook.endpoint !== null)
    return html`<a href="/webhooks/${webhook.webhookId}">${endpointText(webhook.endpoint)}</a>`;
  const host = parts.deletions.get(webhook.webhookId)?.before?.['host'];
  return html`<span>${typeof host === 'string' ? host : webhook.webhookId}</span>`;
}

function explanation({ webhook, parts, settings, visit }: ArticleParts): Html {
  const { now } = visit;
  const next = `Attempt ${count(webhook.attempts + 1)} of ${count(attemptsMax(settings))}`;
  switch (webhook.fate) {
    case 'waiting':
    case 'retrying':
      return html`${next} ${dueAt(webhook.nextAttemptAt, now)}. ${failing(webhook, now)}`;
    case 'dead_letter':
      return html`${deadLetterText(webhook, settings)} ${failing(webhook, now)}`;
    case 'dropped':
      return droppedText(webhook, parts, now);
    case 'delivered':
      return deliveredText(webhook, parts.story.event.createdAt, now);
    case 'attempts_expired':
      return html`Postrider keeps attempts for ${count(settings.attemptRetentionDays)} days. The event is
      older, and no delivery is outstanding.`;
  }
}

function attemptsMax({ deliveryRetryDelaysSeconds }: Settings): number {
  return deliveryRetryDelaysSeconds.length + 1;
}

function dueAt(at: Date | null, now: Date): Html {
  if (at === null) return html`is running, or about to start`;
  const seconds = (at.getTime() - now.getTime()) / 1000;
  if (seconds <= 0) return html`is due now`;
  return html`is due at ${time(at, now)} <span class="rel">in ${duration(seconds)}</span>`;
}

function failing({ failingSince }: StoryWebhook, now: Date): Html {
  if (failingSince === null) return html``;
  return html`The endpoint has been failing since ${time(failingSince, now)}.`;
}

function deadLetterText({ deadLetter }: StoryWebhook, settings: Settings): Html {
  if (deadLetter === null) return html`Given up.`;
  const { id, reason, lastError, statusCode, createdAt } = deadLetter;
  const never = reason === 'rejected' && statusCode === 410 ? 'Postrider never retries a 410.' : '';
  return html`Given up as <code>${reason}</code>, last error <code>${lastError}</code>. ${never} Dead letter
    ${idCode(id)}, kept until ${dayAfter(createdAt, settings.deadLetterRetentionDays)}.`;
}

function droppedText({ endpoint, webhookId }: StoryWebhook, { deletions }: EventParts, now: Date): Html {
  const deletedAt = deletions.get(webhookId)?.createdAt;
  if (endpoint === null) {
    const when = deletedAt === undefined ? '' : html` at ${time(deletedAt, now)}`;
    return html`The webhook was deleted${when}. You can no longer replay the event to it.`;
  }
  return html`No attempt succeeded, and the delivery has ended. Its dead letter was deleted, by retention or
  with a webhook.`;
}

function deliveredText({ attemptsByDelivery }: StoryWebhook, recordedAt: Date, now: Date): Html {
  const last = attemptsByDelivery.at(-1)?.at(-1);
  if (last === undefined) return html`Delivered.`;
  const at = new Date(last.startedAt.getTime() + last.durationMs);
  const seconds = (at.getTime() - recordedAt.getTime()) / 1000;
  return html`Delivered at ${time(at, now)} on attempt ${count(last.attempt)}, ${duration(seconds)} after the
    event was recorded. <span class="rel">${ago(at, now)}</span>`;
}

function replayForm({ webhook, parts, settings, visit, label }: ArticleParts): Html | null {
  const { endpoint, webhookId, fate } = webhook;
  if (!visit.mayAct || endpoint === null) return null;
  return html`<details class="ask">
    <summary class="btn slim">Replay…<span class="vh"> to ${endpointName(endpoint)}</span></summary>
    <form method="post" action="/events/${parts.story.event.id}/replay">
      ${formTokens(visit.visitor)}
      <input type="hidden" name="webhook" value="${webhookId}" />
      <input type="hidden" name="shown" value="${shownDelivery(fate)}" />
      <p>
        Postrider sends this <b>1 event</b> to <b>1 webhook</b>, ${endpointName(endpoint)}, at once, with up
        to ${count(attemptsMax(settings))} new attempts. The id and the bytes stay the same.
        ${replayEffect(webhook)}
      </p>
      <div>
        <label for="note-${label}">Note for the audit (optional)</label>
        <input id="note-${label}" name="note" maxlength="200" autocomplete="off" />
      </div>
      <div class="acts"><button class="btn main">Replay 1 event</button></div>
    </form>
  </details>`;
}

/** The state that the user saw, in the words of `DELIVERY_FATES`. A replay refuses when it has changed. */
function shownDelivery(fate: StoryWebhook['fate']): string {
  return fate === 'attempts_expired' ? 'unknown' : fate;
}

function replayEffect({ fate, deadLetter }: StoryWebhook): Part {
  if (fate === 'delivered') return 'The endpoint already has this event and gets it again.';
  return deadLetter === null ? '' : html`The replay deletes dead letter ${idCode(deadLetter.id)}.`;
}
