import { html } from '@remix-run/html-template';
import { plainAddresses } from '@postrider/domain';
import type { EventData, EventType } from '@postrider/domain';
import type { EventStory } from '@postrider/store';
import type { Visit } from '../http/serve-page.ts';
import { doneNote } from '../html/done.ts';
import type { Page } from '../html/layout.ts';
import { accountCrumb, accountLink, addressLink } from '../html/links.ts';
import { crumbs, facts, head, timeAgo, wholeId } from '../html/pieces.ts';
import type { Fact, Html } from '../html/pieces.ts';
import { count, counted, dayAfter, subjectText } from '../html/words.ts';
import type { Settings } from '../settings.ts';
import { causeSection } from './event-cause.ts';
import { bodySection, copySection } from './event-copy.ts';
import { deliveriesSection } from './event-deliveries.ts';
import type { EventParts } from './event-parts.ts';
import { countFates } from './fates.ts';

export function eventPage(parts: EventParts, settings: Settings, visit: Visit): Page {
  const { story, account } = parts;
  const { event, email } = story;
  const above = [
    accountCrumb(event.accountId, account?.name),
    ...(email === null ? [] : [{ href: `/emails/${email.id}`, name: `Email to ${email.to.join(', ')}` }]),
  ];
  const acts = html`<div class="acts">
    <a class="btn" href="#copy">Copy curl</a>
    <a class="btn" href="#body">Body</a>
  </div>`;
  const main = html`${crumbs(above, 'Event')}
    ${head(event.type, { ids: wholeId(event.id, 'event id') }, acts)} ${doneNote(visit.done)}
    ${verdict(story)}
    <section class="card" aria-label="Facts">${facts(eventFacts(parts, settings, visit.now))}</section>
    ${causeSection(story)} ${deliveriesSection(parts, settings, visit)} ${copySection(story, settings)}
    ${bodySection(story)}`;
  return { title: `${event.type} ${event.id}`, main };
}

/** Every fate except `delivered`. */
const FATE_WORDS = {
  retrying: 'retrying',
  waiting: 'waiting for the first attempt',
  dead_letter: 'in a dead letter',
  dropped: 'dropped',
  attempts_expired: 'older than the attempt log',
} as const;

function verdict({ webhooks }: EventStory): Html {
  if (webhooks.length === 0) {
    return html`<div class="note wait">
      <p>
        <b>No webhook matched.</b> When Postrider recorded the event, no webhook of the account asked for its
        type and its domain.
      </p>
    </div>`;
  }
  const { delivered, known } = countFates(webhooks);
  const undelivered = Object.entries(FATE_WORDS).flatMap(([fate, words]) => {
    const found = webhooks.filter((webhook) => webhook.fate === fate).length;
    return found === 0 ? [] : [`${count(found)} ${found === 1 ? 'is' : 'are'} ${words}`];
  });
  const isGood = known > 0 && delivered === known;
  const isBad = webhooks.some(({ fate }) => fate === 'dead_letter' || fate === 'dropped');
  const unfinishedSign = isBad ? 'bad' : 'wait';
  const sign = isGood ? 'good' : unfinishedSign;
  const sum = `Delivered to ${count(delivered)} of ${counted(known, 'webhook')}.`;
  return html`<div class="note ${sign}">
    <p>
      <b>${known === 0 ? 'Its deliveries are unknown.' : sum}</b>
      ${undelivered.length === 0 ? '' : `${undelivered.join(', ')}.`}
    </p>
  </div>`;
}

function eventFacts({ story, account }: EventParts, settings: Settings, now: Date): Fact[] {
  const { event, email, message } = story;
  const recipients = recipientsIn(story);
  const about: Fact[] = [];
  if (email !== null) {
    about.push({
      term: 'Email',
      value: html`<a href="/emails/${email.id}">${subjectText(email.subject)}</a>`,
    });
  }
  if (message !== null) {
    about.push({
      term: 'Message',
      value: html`<a href="/messages/${message.id}">${subjectText(message.subject)}</a>`,
    });
  }
  return [
    {
      term: 'Account',
      value: accountLink(event.accountId, account?.name),
    },
    { term: 'Recorded', value: timeAgo(event.createdAt, now, 'milliseconds') },
    {
      term: recipients.length === 1 ? 'Recipient' : 'Recipients',
      value:
        recipients.length === 0
          ? html`<span class="soft">the event names none</span>`
          : html`${recipients.map((to) => html`${addressLink(to)} ${isLeftOut(email, to) ? leftOut : null}`)}`,
    },
    ...about,
    event.isCopy
      ? { term: 'Event', value: 'deleted by retention; this is the copy in its dead letter' }
      : {
          term: 'Kept until',
          value: html`${dayAfter(event.createdAt, settings.eventRetentionDays)}
            <span class="rel">${count(settings.eventRetentionDays)} days</span>`,
        },
  ];
}

const leftOut = html`<span class="rel">left out, suppressed</span> `;

function isLeftOut(email: EventStory['email'], recipient: string): boolean {
  return plainAddresses([recipient]).some((plain) => email?.suppressedAddresses.includes(plain));
}

function recipientsIn({ event, email }: EventStory): readonly string[] {
  const data = JSON.parse(event.data) as EventData<EventType>;
  if ('recipients' in data) return data.recipients;
  if ('received_for' in data) return data.received_for;
  if ('to' in data) return [data.to];
  return email === null ? [] : [...email.to, ...email.cc, ...email.bcc];
}
