import { ADDRESS_LENGTH, parseEmailAddress, parseId, PATTERNS, plainAddress } from '@postrider/domain';
import type { AccountId } from '@postrider/domain';
import { POSITION_MAX } from '@postrider/store';
import type { EventCursor, EventFilter, EventStore, ListedEvent } from '@postrider/store';
import { z } from 'zod';
import { json } from '../http/answer.ts';
import type { Answer } from '../http/answer.ts';
import { strictFields } from '../http/fields.ts';
import { idField, parsedText, requestedEventType, requestedTime } from '../http/parsed-text.ts';
import { limitParameter, parseQuery } from '../http/query-fields.ts';
import { invalid, noSuch } from '../problems/answers.ts';
import { quoted } from '../problems/quoted.ts';
import type { Documented, KeyedRoute } from './route.ts';
import { eventType, idOf, text, time } from './schemas.ts';
import type { AnswerOf } from './schemas.ts';

const MANAGE = { scope: 'webhooks:manage', limited: true } as const;

export function eventRoutes(events: EventStore): readonly Documented[] {
  return [listEvents(events), listEventsOfEmail(events)];
}

const pageParameters = {
  type: requestedEventType.optional().meta({ description: 'Of this type.' }),
  since: requestedTime.optional().meta({ description: 'Recorded at this time or later.' }),
  until: requestedTime.optional().meta({ description: 'Recorded before this time.' }),
  after: parsedText(readEventCursor, 'is neither a cursor of this list nor the id of an event')
    .optional()
    .meta({
      pattern: PATTERNS.cursor,
      description: 'The `next_cursor` of the page before, or the id of an event: what comes after it.',
    }),
  limit: limitParameter,
};

/** The parameters of lists with the events of many messages. */
export const eventFilterParameters = {
  recipient: parsedText(recipientOf, 'is not an email address').optional().meta({
    pattern: PATTERNS.address,
    maxLength: ADDRESS_LENGTH,
    description: 'To this recipient: of sent mail, of received mail, or who unsubscribed.',
  }),
  email_id: idField('email', 'an email').optional().meta({ description: 'Of the message with this id.' }),
  ...pageParameters,
};

const emailEventQuery = strictFields(pageParameters, 'parameter');
const eventQuery = strictFields(eventFilterParameters, 'parameter');

/** The envelope of contract 2.2. */
export const event = z.object({
  id: idOf('event'),
  type: eventType,
  subject: text,
  created_at: time,
  data: z.record(z.string(), z.unknown()).meta({ description: 'As in every delivery of the event.' }),
});
const eventPage = z
  .object({
    object: z.literal('list'),
    has_more: z.boolean(),
    next_cursor: text.meta({ description: 'Opaque: the `after` of the next page, also of a later request.' }),
    data: z.array(event),
  })
  .meta({ id: 'EventPage' });

function listEvents(events: EventStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'get',
    path: '/v1/events',
    docs: {
      operationId: 'listEvents',
      summary: 'List the events of the account, the oldest first',
      description:
        'Whichever webhook got them, as long as the operator keeps events. Ask again with the last `next_cursor`, ' +
        'without `since`, for later events: none is left out. After a restore of the database a cursor may be refused: read again with `since`.',
      query: eventQuery,
      success: { status: 200, body: eventPage },
      refusals: ['validation-failed'],
    },
    async handle({ key: { accountId }, query }) {
      const parsed = parseQuery(query, eventQuery);
      if (!parsed.ok) return parsed.refusal;
      const { after, limit, email_id: emailId, ...filter } = parsed.fields;
      return pageAnswer(events, accountId, { ...filter, emailId }, { after, limit });
    },
  };
}

function listEventsOfEmail(events: EventStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'get',
    path: '/v1/emails/:id/events',
    docs: {
      operationId: 'listEventsOfEmail',
      summary: 'List the events of a message, the oldest first',
      description: 'As long as the operator keeps events.',
      query: emailEventQuery,
      success: { status: 200, body: eventPage },
      refusals: ['not-found', 'validation-failed'],
    },
    async handle({ key: { accountId }, id: written, query }) {
      const parsed = parseQuery(query, emailEventQuery);
      if (!parsed.ok) return parsed.refusal;
      const { after, limit, ...filter } = parsed.fields;
      const emailId = parseId('email', written);
      if (emailId === null || !(await events.hasEmail(accountId, emailId))) return noSuch('email');
      return pageAnswer(events, accountId, { ...filter, emailId }, { after, limit });
    },
  };
}

async function pageAnswer(
  events: EventStore,
  accountId: AccountId,
  filter: EventFilter,
  { after, limit }: { readonly after: EventCursor | undefined; readonly limit: number },
): Promise<Answer> {
  const page = await events.list(accountId, filter, { after, limit });
  if (page === null) return invalid(unknownEvent(after));
  return json<AnswerOf<typeof eventPage>>(200, {
    object: 'list',
    has_more: page.hasMore,
    next_cursor: writeEventCursor(page.position),
    data: page.entries.map((each) => envelopeOf(each, accountId)),
  });
}

const LOST_HISTORY =
  'after is not a cursor of this history. The database may have been restored to an earlier time. ' +
  'Read again with since instead of after.';

/** Why a list refuses `after`. A bigint is the position of a cursor. */
export function unknownEvent(after: EventCursor | undefined): string {
  if (typeof after === 'bigint') return LOST_HISTORY;
  return `after ${quoted(after)} is not the id of an event of the account.`;
}

/** @param subject as the receiver sees it: the account's id, or that of a routing rule (contract 2.2). */
export function envelopeOf(
  { id, type, createdAt, data }: Omit<ListedEvent, 'position'>,
  subject: string,
): AnswerOf<typeof event> {
  return {
    id,
    type,
    subject,
    created_at: createdAt.toISOString(),
    data: JSON.parse(data) as Record<string, unknown>,
  };
}

function recipientOf(written: string): string | null {
  return plainAddress(parseEmailAddress(written)?.address ?? '');
}

/** Writes a position in a list of events as a cursor. Customers must not interpret it. */
export function writeEventCursor(position: bigint): string {
  return Buffer.from(String(position)).toString('base64url');
}

/** @returns null for a text that is neither a cursor nor the id of an event */
export function readEventCursor(written: string): EventCursor | null {
  const id = parseId('event', written);
  if (id !== null) return id;
  const digits = Buffer.from(written, 'base64url').toString('latin1');
  if (!/^\d{1,19}$/.test(digits)) return null;
  const position = BigInt(digits);
  return position <= POSITION_MAX && writeEventCursor(position) === written ? position : null;
}
