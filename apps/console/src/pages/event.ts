import { html } from '@remix-run/html-template';
import { inboundSubject } from '@postrider/domain';
import type { EventData, EventType } from '@postrider/domain';
import type { EventStory } from '@postrider/store';
import type { Visit } from '../http/serve-page.ts';
import { doneNote } from '../html/done.ts';
import type { Page } from '../html/layout.ts';
import { crumbs, facts, preformatted, section, timeAgo, wholeId } from '../html/pieces.ts';
import type { Fact, Html } from '../html/pieces.ts';
import { shellWord } from '../html/shell.ts';
import { bytes, count, day } from '../html/words.ts';
import { causeSection } from './event-cause.ts';
import { shownBody } from './event-body.ts';
import { deliveriesSection } from './event-deliveries.ts';
import type { EventParts, EventSettings, FoundEvent } from './event-parts.ts';

export function eventPage(parts: EventParts, settings: EventSettings, visit: Visit): Page {
  const { story, account } = parts;
  const { event, email } = story;
  const name = account?.name ?? event.accountId;
  const above = [
    { href: `/accounts/${event.accountId}`, name },
    ...(email === null ? [] : [{ href: `/emails/${email.id}`, name: `Email to ${email.to.join(', ')}` }]),
  ];
  const main = html`${crumbs(above, 'Event')}
    <div class="head">
      <div>
        <h1>${event.type}</h1>
        <p class="ids">${wholeId(event.id, 'event id')}</p>
      </div>
      <div class="acts">
        <a class="btn" href="#copy">Copy curl</a>
        <a class="btn" href="#body">Body</a>
      </div>
    </div>
    ${doneNote(visit.done)} ${verdict(story)}
    <section class="card" aria-label="Facts">${facts(eventFacts(parts, settings, visit.now))}</section>
    ${causeSection(story)} ${deliveriesSection(parts, settings, visit)} ${copySection(story, settings)}
    ${bodySection(story)}`;
  return { title: `${event.type} ${event.id}`, main };
}

const FATE_WORDS = {
  retrying: 'retrying',
  waiting: 'waiting for the first attempt',
  dead_letter: 'in a dead letter',
  dropped: 'dropped',
  attempts_expired: 'older than the attempt log',
} as const;

function verdict({ webhooks }: EventStory): Html {
  const all = webhooks.length;
  if (all === 0) {
    return html`<div class="note wait">
      <p>
        <b>No webhook matched.</b> When Postrider recorded the event, no webhook of the account asked for it.
      </p>
    </div>`;
  }
  const delivered = webhooks.filter(({ fate }) => fate === 'delivered').length;
  const others = Object.entries(FATE_WORDS).flatMap(([fate, words]) => {
    const found = webhooks.filter((webhook) => webhook.fate === fate).length;
    return found === 0 ? [] : [`${count(found)} ${found === 1 ? 'is' : 'are'} ${words}`];
  });
  const isBad = webhooks.some(({ fate }) => fate === 'dead_letter' || fate === 'dropped');
  const sign = delivered === all ? 'good' : isBad ? 'bad' : 'wait';
  return html`<div class="note ${sign}">
    <p>
      <b>Delivered to ${count(delivered)} of ${count(all)} ${all === 1 ? 'webhook' : 'webhooks'}.</b>
      ${others.length === 0 ? '' : `${others.join(', ')}.`}
    </p>
  </div>`;
}

function eventFacts({ story, account }: EventParts, settings: EventSettings, now: Date): Fact[] {
  const { event, email, message } = story;
  const recipients = recipientsIn(story);
  const keptUntil = new Date(event.createdAt.getTime() + settings.eventRetentionDays * 86_400_000);
  const about: Fact[] = [];
  if (email !== null) {
    about.push({
      term: 'Email',
      value: html`<a href="/emails/${email.id}">${email.subject || 'no subject'}</a>`,
    });
  }
  if (message !== null) {
    about.push({ term: 'Message', value: html`<a href="/messages/${message.id}">received message</a>` });
  }
  return [
    {
      term: 'Account',
      value: html`<a href="/accounts/${event.accountId}">${account?.name ?? event.accountId}</a>`,
    },
    { term: 'Recorded', value: timeAgo(event.createdAt, now, 'milliseconds') },
    {
      term: recipients.length === 1 ? 'Recipient' : 'Recipients',
      value:
        recipients.length === 0
          ? html`<span class="soft">the event names none</span>`
          : html`${recipients.map((to) => html`<a href="/search?q=${encodeURIComponent(to)}">${to}</a> `)}`,
    },
    ...about,
    event.isCopy
      ? { term: 'Event', value: 'deleted by retention; this is the copy in its dead letter' }
      : {
          term: 'Kept until',
          value: html`${day(keptUntil)} <span class="rel">${count(settings.eventRetentionDays)} days</span>`,
        },
  ];
}

function recipientsIn({ event, email }: EventStory): readonly string[] {
  const data = JSON.parse(event.data) as EventData<EventType>;
  if ('recipients' in data) return data.recipients;
  if ('received_for' in data) return data.received_for;
  if ('to' in data) return [data.to];
  return email?.to ?? [];
}

function copySection({ event, webhooks }: EventStory, settings: EventSettings): Html {
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
    `curl -X POST ${shellWord(webhook.endpoint)}`,
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

function bodySection({ event }: EventStory): Html {
  const { pretty } = shownBody(event, event.accountId);
  const size = bytes(Buffer.byteLength(event.data));
  return section(
    'body',
    { title: 'Body', more: `as sent; its data has ${size}` },
    preformatted(pretty, 'Body of the event'),
  );
}
