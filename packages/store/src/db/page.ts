import type { Id, Noun } from '@postrider/domain';

/** One page of a list that runs from the newest entry to the oldest. */
export interface PageRequest<N extends Noun> {
  /** Entries at the most; 1 or more. */
  readonly limit: number;
  /** The page that follows this entry, or the one that ends in front of it; null: the first page. */
  readonly cursor: { readonly side: 'after' | 'before'; readonly id: Id<N> } | null;
}

export interface Page<Entry> {
  /** The newest first, whichever side of the cursor they are on. */
  readonly entries: readonly Entry[];
  /** Whether the list goes on beyond this page, in the direction that was asked for. */
  readonly hasMore: boolean;
}

/** The part of a query that makes it a page: an index on (account_id, created_at desc, id desc) serves it. */
export interface PageRange {
  readonly where: Keyset;
  readonly orderBy: [{ createdAt: 'asc' | 'desc' }, { id: 'asc' | 'desc' }];
  readonly take: number;
}

interface Keyset {
  readonly createdAt?: { readonly lte: Date } | { readonly gte: Date };
  readonly OR?: (
    | { createdAt: { lt: Date } }
    | { createdAt: { gt: Date } }
    | { id: { lt: string } }
    | { id: { gt: string } }
  )[];
}

export interface PagedTable<N extends Noun, Entry> {
  /** Where the entry stands in the list; null: nowhere in this one. */
  readonly cursor: (id: Id<N>) => Promise<{ readonly createdAt: Date } | null>;
  /** @param position the same range, for a statement of its own */
  readonly read: (range: PageRange, position: PagePosition) => Promise<Entry[]>;
}

/** Beyond which entry the page begins, and on which side of it. */
export interface PagePosition {
  /** Null: the first page. */
  readonly cursor: { readonly createdAt: Date; readonly id: string } | null;
  readonly upwards: boolean;
}

/**
 * Reads a page by keyset: however deep in the list it is, it costs as many rows as it has. Entries that come or go
 * meanwhile shift nothing; one is never shown twice.
 *
 * @returns null when the cursor does not stand in the list.
 */
export async function readPage<N extends Noun, Entry>(
  { limit, cursor }: PageRequest<N>,
  table: PagedTable<N, Entry>,
): Promise<Page<Entry> | null> {
  const at = cursor === null ? undefined : await table.cursor(cursor.id);
  if (at === null) return null;
  const upwards = cursor?.side === 'before';
  const from = cursor === null || at === undefined ? null : { createdAt: at.createdAt, id: cursor.id };
  const where = from === null ? {} : beyond(from.createdAt, from.id, upwards);
  const order = upwards ? 'asc' : 'desc';
  // One more than is shown tells whether there are more.
  const range: PageRange = { where, orderBy: [{ createdAt: order }, { id: order }], take: limit + 1 };
  const rows = await table.read(range, { cursor: from, upwards });
  return pageOf(rows, limit, upwards);
}

/** @param rows from the cursor on, in the direction that was asked for, one more than are shown where there is one. */
export function pageOf<Entry>(rows: readonly Entry[], limit: number, upwards: boolean): Page<Entry> {
  const entries = rows.slice(0, limit);
  return { entries: upwards ? entries.reverse() : entries, hasMore: rows.length > limit };
}

/** `(created_at, id) < (at, id)`, in words that Prisma has; the first condition is the one the index is entered by. */
function beyond(at: Date, id: string, upwards: boolean): Keyset {
  return upwards
    ? { createdAt: { gte: at }, OR: [{ createdAt: { gt: at } }, { id: { gt: id } }] }
    : { createdAt: { lte: at }, OR: [{ createdAt: { lt: at } }, { id: { lt: id } }] };
}
