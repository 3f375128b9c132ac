import { html } from '@remix-run/html-template';
import { inboundSubject, terminalJson } from '@postrider/domain';
import type { EventStory } from '@postrider/store';
import { preformatted, section } from '../html/pieces.ts';
import type { Html } from '../html/pieces.ts';
import { bytes, shellWord } from '../html/words.ts';
import type { Settings } from '../settings.ts';
import type { FoundEvent } from './event-parts.ts';

/** Commands that send the event again. */
export function copySection({ event, webhooks }: EventStory, settings: Settings): Html {
  const webhook = webhooks.find(({ endpoint }) => endpoint !== null);
  if (webhook?.endpoint === undefined || webhook.endpoint === null) {
    return section(
      'copy',
      { title: 'Copy' },
      html`<p class="small soft">No webhook is left to send it to.</p>`,
    );
  }
  const prefix = settings.signatureHeaderPrefix;
  const isMail = event.type.startsWith('message.');
  const request = [
    `curl -g -X POST ${shellWord(webhook.endpoint)}`,
    `-H 'Content-Type: application/json'`,
    `-H ${shellWord(`${prefix}-Event-Id: ${event.id}`)}`,
    `-H ${shellWord(`${prefix}-Event-Type: ${event.type}`)}`,
    `-H 'User-Agent: Postrider/1'`,
    `--data-raw ${shellWord(shownBody(event, subjectOf(event, webhook.ruleId)).line)}`,
  ].join(' \\\n  ');
  const api = settings.publicUrl ?? 'http://127.0.0.1:3000';
  const replay = [
    `curl -X POST ${shellWord(`${api}/v1/webhooks/${webhook.webhookId}/events/${event.id}/replay`)}`,
    '-H "Authorization: Bearer $POSTRIDER_KEY"',
  ].join(' \\\n  ');
  return section(
    'copy',
    { title: 'Copy' },
    html`<div class="card pad">
      <div class="cols">
        <div>
          <label for="curl1">The request to the endpoint, unsigned</label>
          <textarea id="curl1" rows="9" readonly data-copy="curl command">${request}</textarea>
        </div>
        <div>
          <label for="curl2">For the customer: replay this event through the API</label>
          <textarea id="curl2" rows="3" readonly data-copy="curl command for the customer">
${replay}</textarea>
          <p class="hint">
            The first command is unsigned: Postrider does not store signatures, and the console cannot read
            the secret. ${isMail ? 'It has the length of the message text in place of the text.' : ''}
          </p>
        </div>
      </div>
    </div>`,
  );
}

/** The subject in the body that a webhook gets: the account, or one of its routing rules. */
function subjectOf({ accountId }: FoundEvent, ruleId: string | null): string {
  return ruleId === null ? accountId : inboundSubject(accountId, ruleId);
}

/** The body of the event. */
export function bodySection({ event }: EventStory): Html {
  const { pretty } = shownBody(event, event.accountId);
  const size = bytes(Buffer.byteLength(event.data));
  return section(
    'body',
    { title: 'Body', more: `as sent; its data has ${size}` },
    preformatted(pretty, 'Body of the event'),
  );
}

/**
 * The body that attempts send, without the text of received mail: its length is shown in its place. `line` is
 * pasted into terminals.
 */
function shownBody(event: FoundEvent, subject: string): { readonly pretty: string; readonly line: string } {
  const data = JSON.parse(event.data) as Readonly<Record<string, unknown>>;
  const body = {
    id: event.id,
    type: event.type,
    subject,
    created_at: event.createdAt.toISOString(),
    data: typeof data['text'] === 'string' ? { ...data, text: lengthOf(data['text']) } : data,
  };
  return { pretty: JSON.stringify(body, null, 2), line: terminalJson(body) };
}

function lengthOf(text: string): string {
  return `(${Buffer.byteLength(text)} bytes, not shown)`;
}
