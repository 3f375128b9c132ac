import { parseId } from '@postrider/domain';
import type { AlsoStatus, Id, Noun } from '@postrider/domain';
import type { Page, PageAt } from '@postrider/store';
import { invalid } from '../problems/answers.ts';
import { quoted } from '../problems/quoted.ts';
import { json } from './answer.ts';
import type { Answer } from './answer.ts';
import { LIMIT_FAULT, limitParameter, repetitionIn } from './query-fields.ts';

interface PagedList<Cursor extends string, Entry> {
  /** @returns null when the list does not hold the cursor. */
  readonly read: (request: PageAt<Cursor>) => Promise<Page<Entry> | null>;
  /** The JSON of an entry. */
  readonly show: (entry: Entry) => object;
  /** The status of a refusal. Suppression and topic routes set it. */
  readonly refusalStatus?: AlsoStatus;
}

const SIDES = ['after', 'before'] as const;

/** Answers one page of a list with entries of one noun. Their ids are the cursors. */
export async function listAnswer<N extends Noun, Entry>(
  query: URLSearchParams,
  list: PagedList<Id<N>, Entry> & { readonly noun: N },
): Promise<Answer> {
  return pageAnswer(query, (written) => parseId(list.noun, written), list);
}

/**
 * Answers one page of a list as Resend does: `{object: 'list', has_more, data}`. The query gives `limit`
 * (1–100, default 20) and `after` or `before`, the id of an entry. A malformed cursor, an unknown one and one
 * from another account get the same refusal.
 *
 * @param readId returns null for text that cannot be an entry's id.
 */
export async function pageAnswer<Cursor extends string, Entry>(
  query: URLSearchParams,
  readId: (written: string) => Cursor | null,
  list: PagedList<Cursor, Entry>,
): Promise<Answer> {
  const request = parsePage(query, readId);
  if (typeof request === 'string') return invalid(request, list.refusalStatus);
  const { cursor } = request;
  const page = await list.read(request);
  if (page !== null) {
    return json(200, { object: 'list', has_more: page.hasMore, data: page.entries.map(list.show) });
  }
  if (cursor === null) throw new Error('a first page needs no cursor');
  return invalid(unknownCursor(cursor.side, cursor.id), list.refusalStatus);
}

/**
 * Answers one page of entries that are all in memory, in their order. Their ids are the cursors.
 *
 * @param show makes the JSON of an entry.
 */
export function listAnswerFrom<Entry extends { readonly id: string }>(
  query: URLSearchParams,
  entries: readonly Entry[],
  show: (entry: Entry) => object,
): Answer {
  const request = parsePage(query, (written) => entries.find(({ id }) => id === written)?.id ?? null);
  if (typeof request === 'string') return invalid(request);
  const { limit, cursor } = request;
  const at = cursor === null ? -1 : entries.findIndex(({ id }) => id === cursor.id);
  const upwards = cursor?.side === 'before';
  const start = upwards ? Math.max(0, at - limit) : at + 1;
  const end = upwards ? at : start + limit;
  const hasMore = upwards ? start > 0 : end < entries.length;
  return json(200, { object: 'list', has_more: hasMore, data: entries.slice(start, end).map(show) });
}

/** @returns the fault in words when the query is invalid. */
function parsePage<Cursor extends string>(
  query: URLSearchParams,
  readId: (written: string) => Cursor | null,
): PageAt<Cursor> | string {
  const repetition = repetitionIn(query, ['limit', ...SIDES]);
  if (repetition !== null) return repetition;
  const written = query.get('limit') ?? undefined;
  const limit = limitParameter.safeParse(written);
  if (!limit.success) return `limit ${quoted(written)} ${LIMIT_FAULT}.`;
  const [side, other] = SIDES.filter((name) => query.has(name));
  if (side !== undefined && other !== undefined) {
    return `${other} ${quoted(query.get(other))} cannot be used together with ${side}.`;
  }
  if (side === undefined) return { limit: limit.data, cursor: null };
  const cursor = query.get(side) ?? '';
  const id = readId(cursor);
  return id === null ? unknownCursor(side, cursor) : { limit: limit.data, cursor: { side, id } };
}

function unknownCursor(side: string, written: string): string {
  return `${side} ${quoted(written)} is not the id of an entry of this list.`;
}
