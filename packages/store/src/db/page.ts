import type { Id, Noun } from '@postrider/domain';

/** One page of a list that runs from the newest entry to the oldest. */
export interface PageAt<EntryId extends string> {
  /** Entries at most; 1 or more. */
  readonly limit: number;
  /** The page after this entry, or the page that ends before it; null: the first page. */
  readonly cursor: { readonly side: 'after' | 'before'; readonly id: EntryId } | null;
}

export type PageRequest<N extends Noun> = PageAt<Id<N>>;

export interface Page<Entry> {
  /** The newest first, on either side of the cursor. */
  readonly entries: readonly Entry[];
  /** Whether the list continues beyond this page, in the requested direction. */
  readonly hasMore: boolean;
}

/**
 * The part of a query that selects a page. Most lists have an index on (account_id, created_at desc, id
 * desc).
 */
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
  /** The position of the entry; null: this list does not contain it. */
  readonly positionOf: (id: Id<N>) => Promise<{ readonly createdAt: Date } | null>;
  /** @param position the same range without Prisma's types. Raw SQL uses it. */
  readonly read: (range: PageRange, position: PagePosition) => Promise<Entry[]>;
}

/** The position of an entry in a list that runs from the newest to the oldest. */
export interface ListPosition {
  readonly createdAt: Date;
  readonly id: string;
}

/** The entry at which the page begins, and the direction. */
export interface PagePosition {
  /** Null: the first page. */
  readonly cursor: ListPosition | null;
  readonly upwards: boolean;
}

/**
 * Reads a page by keyset. It costs as many rows as the page has, however deep in the list, plus the rows with
 * the same time as the cursor. Entries that are added or deleted meanwhile shift nothing, and no entry is
 * shown twice.
 *
 * @returns null when the list does not contain the cursor.
 */
export async function readPage<N extends Noun, Entry>(
  { limit, cursor }: PageRequest<N>,
  table: PagedTable<N, Entry>,
): Promise<Page<Entry> | null> {
  if (cursor === null) return readFrom({ cursor: null, upwards: false }, limit, table);
  const found = await table.positionOf(cursor.id);
  if (found === null) return null;
  const from = { createdAt: found.createdAt, id: cursor.id };
  return readFrom({ cursor: from, upwards: cursor.side === 'before' }, limit, table);
}

async function readFrom<N extends Noun, Entry>(
  position: PagePosition,
  limit: number,
  table: Pick<PagedTable<N, Entry>, 'read'>,
): Promise<Page<Entry>> {
  const { cursor, upwards } = position;
  const where = cursor === null ? {} : beyond(cursor.createdAt, cursor.id, upwards);
  const order = upwards ? 'asc' : 'desc';
  // One row more than the page shows tells whether there are more.
  const range: PageRange = { where, orderBy: [{ createdAt: order }, { id: order }], take: limit + 1 };
  const rows = await table.read(range, position);
  return pageOf(rows, limit, upwards);
}

/** A Prisma model with `createdAt` and `id`. */
interface ListedTable<Row> {
  findFirst(query: { where: object; select: { createdAt: true } }): Promise<{ createdAt: Date } | null>;
  findMany(query: { where: object } & Omit<PageRange, 'where'>): Promise<Row[]>;
}

/**
 * Reads a page of the table's rows that fit `where`, the newest first.
 *
 * @returns null when the cursor is none of these rows.
 */
export async function readRows<N extends Noun, Row, Entry>(
  request: PageRequest<N>,
  table: ListedTable<Row>,
  where: object,
  entriesOf: (rows: Row[]) => Entry[] | Promise<Entry[]>,
): Promise<Page<Entry> | null> {
  return readPage(request, {
    positionOf: (id) => table.findFirst({ where: { AND: [{ id }, where] }, select: { createdAt: true } }),
    read: async ({ where: keyset, ...range }) =>
      entriesOf(await table.findMany({ where: { AND: [where, keyset] }, ...range })),
  });
}

/**
 * @param rows from the cursor on, in the requested direction: one more than the page shows, if there is one.
 */
export function pageOf<Entry>(rows: readonly Entry[], limit: number, upwards = false): Page<Entry> {
  const entries = rows.slice(0, limit);
  return { entries: upwards ? entries.reverse() : entries, hasMore: rows.length > limit };
}

/**
 * As `pageOf`. The page ends early when its entries would exceed `bytesMax`, but not before its first entry.
 */
export function pageWithin<Entry extends { readonly bytes: number }>(
  rows: readonly Entry[],
  { limit, bytesMax }: { readonly limit: number; readonly bytesMax: number },
  upwards: boolean,
): Page<Entry> {
  let sum = 0;
  const over = rows.findIndex(({ bytes }) => (sum += bytes) > bytesMax);
  const fitting = over === -1 ? limit : Math.max(1, over);
  return pageOf(rows, Math.min(limit, fitting), upwards);
}

/**
 * `(created_at, id) < (at, id)`, as Prisma can express it. The first condition is the one that the index
 * uses.
 */
function beyond(at: Date, id: string, upwards: boolean): Keyset {
  return upwards
    ? { createdAt: { gte: at }, OR: [{ createdAt: { gt: at } }, { id: { gt: id } }] }
    : { createdAt: { lte: at }, OR: [{ createdAt: { lt: at } }, { id: { lt: id } }] };
}
