import { EVENT_TYPES, inboundAddress } from '@postrider/domain';
import type { AccountId, EmailId, EventId, EventType, MessageId, WebhookId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import type { Statement } from '../db/statement.ts';
import { findMessages } from '../inbound/find-messages.ts';
import { searchEmails } from '../mail/find-emails.ts';
import type { EmailSearch } from '../mail/find-emails.ts';
import { readFates } from './event-fates.ts';
import type { EventFate } from './event-fates.ts';
import type { FoundEvent } from './event-story.ts';
import { POSITION_MAX, rangeOf } from './events.ts';
import { findEvents } from './sql/event-story.ts';
import {
  findAccountsOfAddress,
  findEventsOfEmails,
  findEventsOfMessages,
  findEventsOfRecipient,
  findNewestEvents,
} from './sql/find-events.ts';
import { createWebhookEventStore } from './webhook-events.ts';
import type { WebhookEventStatus } from './webhook-events.ts';

/** The ways to search for events. */
export type EventSearch =
  | { readonly by: 'event'; readonly id: EventId }
  /** A sent message. */
  | { readonly by: 'email'; readonly id: EmailId }
  /** A recipient, as `plainAddress` writes it. */
  | { readonly by: 'address'; readonly address: string }
  /** The Message-ID of a sent or a received message, without angle brackets. */
  | { readonly by: 'messageId'; readonly messageId: string }
  /** The `x-request-id` of the request that sent the mail. */
  | { readonly by: 'request'; readonly requestId: string }
  /** A webhook, with the account that has it. */
  | { readonly by: 'webhook'; readonly id: WebhookId; readonly accountId: AccountId };

/** An absent property matches any value. */
export interface FoundEventFilter {
  readonly accountId?: AccountId | undefined;
  readonly type?: EventType | undefined;
  /** Recorded at this time or later. */
  readonly since?: Date | undefined;
  /** Recorded before this time. */
  readonly until?: Date | undefined;
  /** Before this position: `olderFrom` of a page. */
  readonly after?: bigint | undefined;
  /** The event has this status at some webhook; in a search by webhook, at that one. */
  readonly status?: WebhookEventStatus | undefined;
}

/** An event of any account, with its fate at each webhook. */
export interface EventWithFates {
  readonly id: EventId;
  readonly accountId: AccountId;
  readonly type: EventType;
  readonly createdAt: Date;
  /** The sent message that the event is about; null when it is about none. */
  readonly emailId: EmailId | null;
  readonly fates: readonly EventFate[];
}

type WebhookSearch = Extract<EventSearch, { by: 'webhook' }>;
type MailSearch = Exclude<EventSearch, { by: 'webhook' | 'event' }>;
type EventRow = Omit<EventWithFates, 'fates'>;
type PlacedRow = EventRow & { readonly position: string };

export type NewestEvent = Pick<EventWithFates, 'id' | 'type' | 'fates'>;
type NewestRow = Omit<NewestEvent, 'fates'> & { readonly mailId: EmailId | MessageId };

/** The newest messages of a Message-ID or a request that are looked at. A request sends 100 at most. */
const MAIL_MAX = 100;
/**
 * The newest messages to an address that are looked at. So one search stays bounded. An account that sent
 * none of these may be missed.
 */
const MAIL_TO_ADDRESS_MAX = 200;
/** Events that a search with a status looks at: a status has no index. */
const LOOKED_AT_MAX = 500;
/** A page reads up to 500 events of a webhook, with their status. 10,000 events take a second. */
const PAGES_OF_WEBHOOK_MAX = 20;

export interface FoundEvents {
  /** The newest first. */
  readonly events: readonly EventWithFates[];
  /** The position of the last event that was looked at: older ones may fit, too. null: no older one fits. */
  readonly olderFrom: bigint | null;
}

/** @returns the newest events that fit, at most `limit`. */
export async function searchEvents(
  db: Database,
  search: EventSearch,
  filter: FoundEventFilter,
  limit: number,
): Promise<FoundEvents> {
  const { status } = filter;
  const fits = (fates: readonly EventFate[] = []): boolean =>
    status === undefined || fates.some((fate) => fate.status === status);
  if (search.by === 'webhook') return eventsOfWebhook({ db, filter, limit }, search);
  if (search.by === 'event') {
    const events = await withFates(db, await eventWithId(db, filter, search.id));
    return { events: events.filter((event) => fits(event.fates)), olderFrom: null };
  }
  const lookedAt = status === undefined ? limit + 1 : LOOKED_AT_MAX;
  const rows = await rowsOf({ db, filter, limit: lookedAt }, search);
  const fates = await readFates(db, idsOf(rows));
  const fitting = rows.filter(({ id }) => fits(fates.get(id)));
  const shown = fitting.slice(0, limit);
  const lastLookedAt = rows.length >= lookedAt ? rows.at(-1) : undefined;
  const last = fitting.length > limit ? shown.at(-1) : lastLookedAt;
  const events = shown.map((row) => eventOf(row, fates));
  return { events, olderFrom: last === undefined ? null : BigInt(last.position) };
}

async function withFates(db: Database, rows: readonly EventRow[]): Promise<EventWithFates[]> {
  const fates = await readFates(db, idsOf(rows));
  return rows.map((row) => eventOf(row, fates));
}

function eventOf(
  { id, accountId, type, createdAt, emailId }: EventRow,
  fates: ReadonlyMap<EventId, readonly EventFate[]>,
): EventWithFates {
  return { id, accountId, type, createdAt, emailId, fates: fates.get(id) ?? [] };
}

/** The database, the filter, and the rows at most. */
interface Reading {
  readonly db: Database;
  readonly filter: FoundEventFilter;
  readonly limit: number;
}

async function rowsOf(reading: Reading, search: MailSearch): Promise<PlacedRow[]> {
  switch (search.by) {
    case 'email':
      return eventsOf(reading, findEventsOfEmails, [search.id]);
    case 'address':
      return eventsOfAddress(reading, search.address);
    case 'messageId':
      return eventsOfMessageId(reading, search.messageId);
    case 'request':
      return eventsOfMail(reading, { by: 'request', text: search.requestId });
  }
}

async function eventWithId(
  db: Database,
  { accountId, type, since, until }: FoundEventFilter,
  id: EventId,
): Promise<EventRow[]> {
  const [event] = await runOn<FoundEvent>(db.pool, findEvents, [[id]]);
  if (event === undefined) return [];
  const fits =
    (accountId === undefined || event.accountId === accountId) &&
    (type === undefined || event.type === type) &&
    (since === undefined || event.createdAt >= since) &&
    (until === undefined || event.createdAt < until);
  const { email_id: emailId = null } = JSON.parse(event.data) as { email_id?: EmailId | null };
  return fits
    ? [{ id, accountId: event.accountId, type: event.type, createdAt: event.createdAt, emailId }]
    : [];
}

/** @param values the list $1 of the statement. @param more the values from $9 on. */
async function eventsOf(
  { db, filter, limit }: Reading,
  statement: Statement,
  values: readonly string[],
  ...more: readonly string[]
): Promise<PlacedRow[]> {
  if (values.length === 0) return [];
  const { accountId, type, since, until, after = POSITION_MAX } = filter;
  const range = await rangeOf(db, filter, { after: 0n, last: after - 1n });
  return runOn<PlacedRow>(db.pool, statement, [
    values,
    type === undefined ? EVENT_TYPES : [type],
    String(range.after),
    String(range.last),
    since?.toISOString() ?? '-infinity',
    until?.toISOString() ?? 'infinity',
    limit,
    accountId ?? null,
    ...more,
  ]);
}

async function eventsOfAddress(reading: Reading, address: string): Promise<PlacedRow[]> {
  const { db, filter } = reading;
  const values = [address, MAIL_TO_ADDRESS_MAX, inboundAddress(address)];
  const accounts =
    filter.accountId === undefined
      ? await runOn<{ id: AccountId }>(db.pool, findAccountsOfAddress, values)
      : [{ id: filter.accountId }];
  return eventsOf(reading, findEventsOfRecipient, idsOf(accounts), address);
}

async function eventsOfMail(reading: Reading, search: EmailSearch): Promise<PlacedRow[]> {
  const mail = await searchEmails(reading.db, search, { limit: MAIL_MAX });
  return eventsOf(reading, findEventsOfEmails, idsOf(mail));
}

async function eventsOfMessageId(reading: Reading, messageId: string): Promise<PlacedRow[]> {
  const received = await findMessages(reading.db, { messageId }, { limit: MAIL_MAX });
  const events = await Promise.all([
    eventsOfMail(reading, { by: 'messageId', text: messageId }),
    eventsOf(reading, findEventsOfMessages, idsOf(received)),
  ]);
  const newestFirst = events
    .flat()
    .sort((one, other) => (BigInt(one.position) < BigInt(other.position) ? 1 : -1));
  // Each list has its own newest events. Beyond the limit, one list may have ended before the other.
  return newestFirst.slice(0, reading.limit);
}

/** Reads pages until it has `limit` events: of the events that a page looks at, few or none may fit. */
async function eventsOfWebhook(
  { db, filter: { accountId: wantedAccountId, after: from, ...filter }, limit }: Reading,
  { id, accountId }: WebhookSearch,
): Promise<FoundEvents> {
  if (wantedAccountId !== undefined && wantedAccountId !== accountId) return { events: [], olderFrom: null };
  const store = createWebhookEventStore(db);
  const rows: EventRow[] = [];
  let [after, olderFrom]: [bigint | undefined, bigint | null] = [from, null];
  for (let pages = 0; pages < PAGES_OF_WEBHOOK_MAX; pages += 1) {
    const page = await store.list(accountId, id, filter, { after, limit: limit - rows.length });
    if (typeof page === 'string') break; // the webhook was removed meanwhile
    for (const { id: event, type, createdAt, emailId } of page.entries) {
      rows.push({ id: event, accountId, type, createdAt, emailId });
    }
    [after, olderFrom] = [page.position, page.hasMore ? page.position : null];
    if (!page.hasMore || rows.length === limit) break;
  }
  return { events: await withFates(db, rows), olderFrom };
}

function idsOf<Id extends string>(rows: readonly { readonly id: Id }[]): Id[] {
  return rows.map(({ id }) => id);
}

/** The newest event of each message that has one, with its fates. */
export async function readNewestEvents(
  db: Database,
  mailIds: readonly (EmailId | MessageId)[],
): Promise<ReadonlyMap<EmailId | MessageId, NewestEvent>> {
  const rows = await runOn<NewestRow>(db.pool, findNewestEvents, [mailIds]);
  const fates = await readFates(db, idsOf(rows));
  return new Map(
    rows.map(({ mailId, ...event }) => [mailId, { ...event, fates: fates.get(event.id) ?? [] }]),
  );
}
