import { EVENT_TYPES, LIMITS } from '@postrider/domain';
import type { AccountId, EmailId, EventId, EventType } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import type { Page } from '../db/page.ts';
import { COMMITTED_WITHIN_SECONDS } from '../retention/erasures.ts';
import { createSettledPosition, readLastPosition } from './settled-position.ts';
import {
  findPosition,
  findPositions,
  listEvents,
  listEventsOfEmail,
  listEventsOfRecipient,
} from './sql/list-events.ts';

/** An event as it was recorded. */
export interface ListedEvent {
  readonly id: EventId;
  readonly type: EventType;
  readonly createdAt: Date;
  /** JSON text. */
  readonly data: string;
  /** Its place in the account's list. */
  readonly position: bigint;
}

/** An absent property matches any value. */
export interface EventFilter {
  readonly type?: EventType | undefined;
  readonly emailId?: EmailId | undefined;
  /** As `plainAddress` writes it. */
  readonly recipient?: string | undefined;
  /** Recorded at this time or later. */
  readonly since?: Date | undefined;
  /** Recorded before this time. */
  readonly until?: Date | undefined;
}

/** The page starts after this event or position. */
export type EventCursor = EventId | bigint;

export interface EventPageRequest {
  readonly after?: EventCursor | undefined;
  /** 1 or more. */
  readonly limit: number;
}

/** `position`: of the last entry. Without entries: where the page began, behind the cursor and `since`. */
type EventPage = Page<ListedEvent> & { readonly position: bigint };

/** The largest value of Postgres's `bigint`. */
export const POSITION_MAX = 2n ** 63n - 1n;

export type EventStore = ReturnType<typeof createEventStore>;

export function createEventStore(db: Database) {
  const settledPosition = createSettledPosition(db.pool);
  return {
    /**
     * Oldest first. An event that commits later always gets a later position. So a reader that continues
     * after the last entry misses none.
     *
     * @returns null when the cursor is not an event in the account's list, or is a position beyond the last
     * one: the database was restored to an earlier time. The list would leave out the next events.
     */
    async list(
      accountId: AccountId,
      filter: EventFilter,
      { after, limit }: EventPageRequest,
    ): Promise<EventPage | null> {
      const from = await positionOf(db, accountId, after ?? 0n);
      if (from === null) return null;
      const last = await settledPosition();
      // `last` may be older than a position that another process listed.
      if (from > last && from > (await readLastPosition(db.pool))) return null;
      const range = await rangeOf(db, filter, { after: from, last });
      const [statement, values] = listing(accountId, filter, range, limit + 1);
      const rows = await runOn<EventRow>(db.pool, statement, values);
      const entries = rows.slice(0, limit).map(eventOf);
      // Each row says whether the limit of bytes cut the page.
      const hasMore = rows.length > limit || rows[0]?.isWhole === false;
      return { entries, hasMore, position: entries.at(-1)?.position ?? range.after };
    },
    /** Whether the account has the email. */
    async hasEmail(accountId: AccountId, id: EmailId): Promise<boolean> {
      const row = await db.prisma.email.findFirst({ where: { id, accountId }, select: { id: true } });
      return row !== null;
    },
  };
}

type EventRow = Omit<ListedEvent, 'position'> & { readonly position: string; readonly isWhole: boolean };

function eventOf({ id, type, createdAt, data, position }: EventRow): ListedEvent {
  return { id, type, createdAt, data, position: BigInt(position) };
}

/** @returns null when the event is in no list of the account. */
export async function positionOf(
  db: Database,
  accountId: AccountId,
  cursor: EventCursor,
): Promise<bigint | null> {
  if (typeof cursor === 'bigint') return cursor;
  const [row] = await runOn<{ position: string }>(db.pool, findPosition, [accountId, cursor]);
  return row === undefined ? null : BigInt(row.position);
}

interface PositionRange {
  /** The position before the first one. */
  readonly after: bigint;
  readonly last: bigint;
}

/** Narrows the range to the filter's time span. Events outside the span are then not read. */
export async function rangeOf(
  db: Database,
  { since, until }: Pick<EventFilter, 'since' | 'until'>,
  { after, last }: PositionRange,
): Promise<PositionRange> {
  if (since === undefined && until === undefined) return { after, last };
  const [found] = await runOn<{ before: string | null; behind: string | null }>(db.pool, findPositions, [
    since?.toISOString() ?? null,
    until?.toISOString() ?? null,
    COMMITTED_WITHIN_SECONDS,
  ]);
  // A position before all events of the time span, and one behind all of them.
  const [before, behind] = [BigInt(found?.before ?? 0), BigInt(found?.behind ?? POSITION_MAX)];
  return { after: before > after ? before : after, last: behind - 1n < last ? behind - 1n : last };
}

function listing(accountId: AccountId, filter: EventFilter, range: PositionRange, rowsMax: number) {
  const { type, emailId, recipient } = filter;
  const types = type === undefined ? EVENT_TYPES : [type];
  const values = rangeValues(accountId, types, filter, range, rowsMax);
  const bytesMax = LIMITS.eventPageBytes;
  if (emailId !== undefined) {
    return [listEventsOfEmail, [...values, emailId, recipient ?? null, bytesMax]] as const;
  }
  if (recipient !== undefined) return [listEventsOfRecipient, [...values, recipient, bytesMax]] as const;
  return [listEvents, [...values, bytesMax]] as const;
}

/** The values $1 to $7 of every list of events. */
export function rangeValues(
  accountId: AccountId,
  types: readonly EventType[],
  { since, until }: Pick<EventFilter, 'since' | 'until'>,
  { after, last }: PositionRange,
  rowsMax: number,
): unknown[] {
  return [
    accountId,
    types,
    String(after),
    String(last),
    since?.toISOString() ?? '-infinity',
    until?.toISOString() ?? 'infinity',
    rowsMax,
  ];
}
