import { html } from '@remix-run/html-template';
import type { EventData, EventType } from '@postrider/domain';
import type { EventStory } from '@postrider/store';
import { searchPath } from '../html/links.ts';
import { idCode, idLink, section } from '../html/pieces.ts';
import type { Html, Part } from '../html/pieces.ts';
import { timeline, withGaps } from '../html/timeline.ts';
import type { Step } from '../html/timeline.ts';
import { counted, subjectText } from '../html/words.ts';

/** What led to the event: the request or the received message, the report, and the record of the event. */
export function causeSection(story: EventStory): Html {
  const steps = [...mailSteps(story), ...reportSteps(story), recordedStep(story)].sort(
    (one, other) => one.at.getTime() - other.at.getTime(),
  );
  return section(
    'cause',
    { title: 'Cause', side: html`<p class="small soft">UTC</p>` },
    html`<div class="card pad">${timeline(withGaps(steps))}</div>`,
  );
}

/** An event is about a received `message`, an `email` that the account sends, or neither. */
function mailSteps({ email, message }: EventStory): Step[] {
  if (message !== null) {
    const what = html`<p>
      <b>Received</b> from <code>${message.from}</code> for <code>${message.receivedFor.join(', ')}</code>,
      “<bdi>${subjectText(message.subject)}</bdi>”. Message ${idLink(message.id, `/messages/${message.id}`)}
    </p>`;
    return [{ at: message.receivedAt, sign: '', content: what }];
  }
  if (email === null) return [];
  const key =
    email.apiKeyId === null ? `a ${email.kind} key` : html`${email.kind} key ${idCode(email.apiKeyId)}`;
  const requestLine =
    email.requestId === null
      ? null
      : html`<p class="small soft">Request <code data-copy="request id">${email.requestId}</code></p>`;
  const requestText = html`<p><b>Request</b> with ${key}</p>
    <p>
      From <code>${email.from}</code> to <code>${email.to.join(', ')}</code>,
      “<bdi>${subjectText(email.subject)}</bdi>”. Email ${idLink(email.id, `/emails/${email.id}`)}
    </p>
    ${requestLine}`;
  const steps: Step[] = [{ at: email.createdAt, sign: '', content: requestText }];
  if (email.sentAt !== null) {
    const id = email.providerMessageId;
    const providerIdLine =
      id === null
        ? null
        : html`<p class="small soft">The provider’s id: <code data-copy="provider id">${id}</code></p>`;
    steps.push({
      at: email.sentAt,
      sign: 'good',
      content: html`<p><b>Sent</b> to the mail provider</p>
        ${providerIdLine}`,
    });
  }
  return steps;
}

/** The report of the mail provider or the recipient. */
function reportSteps({ event }: EventStory): Step[] {
  const data = JSON.parse(event.data) as EventData<EventType>;
  // Only `email.unsubscribed` has a scope: one topic, or all mail.
  if ('scope' in data) {
    const what = html`<p>
      <b>Unsubscribed</b>: <code>${data.source}</code>, scope <code>${data.scope}</code>
    </p>`;
    return [{ at: new Date(data.occurred_at), sign: '', content: what }];
  }
  if (!('detail' in data)) return [];
  const { bounce_type, bounce_sub_type, complaint_type, reject_reason, link, ...texts } = data.detail;
  const words = [bounce_type, bounce_sub_type, complaint_type, reject_reason, link].filter(
    (word) => word !== null,
  );
  const diagnostic = texts.diagnostic ?? texts.smtp_response;
  const isBad = /bounced|complained|rejected|delayed/.test(event.type);
  const content: Part = html`<p>
      <b>The provider reported</b> ${event.type}${words.length === 0 ? '' : `: ${words.join(', ')}`}
    </p>
    ${diagnostic === null ? null : html`<p><code>${diagnostic}</code></p>`}`;
  return [{ at: new Date(data.occurred_at), sign: isBad ? 'bad' : 'good', content }];
}

function recordedStep({ event, webhooks, suppressions }: EventStory): Step {
  const suppressed = suppressions.map(
    ({ address }) => html`<a href="${searchPath(address)}#suppressed">${address}</a> `,
  );
  const data = JSON.parse(event.data) as { readonly error?: string | null };
  const failure = typeof data.error === 'string' ? html`<p><code>${data.error}</code></p>` : null;
  const content = html`<p>
      <b>This event</b> was recorded.
      ${suppressed.length === 0 ? null : html`The account has suppressed ${suppressed} because of this email.`}
    </p>
    ${failure}
    <p class="small soft">${counted(webhooks.length, 'webhook')} matched</p>`;
  return { at: event.createdAt, sign: '', isEnd: true, content };
}
