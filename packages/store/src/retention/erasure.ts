import type { AccountId } from '@postrider/domain';

/** An erasure request, as one erasure pass reads it. */
export interface Erasure {
  readonly accountId: AccountId;
  /** As `plainAddress` writes it. */
  readonly address: string;
  /** As text, to the microsecond. Later rows stay, unless they belong to a message that is erased. */
  readonly requestedAt: string;
  /** As text, to the microsecond. Earlier passes have erased older rows. */
  readonly resumeFrom: string;
}

/** Result of an erasure pass for one kind of row. */
export interface Erased {
  readonly erased: number;
  /** Rows that must stay for now, because they are outstanding or locked. */
  readonly pending: number;
  /** Creation time of the oldest pending row, in milliseconds since 1970. */
  readonly oldestPendingMs: number;
  /** Ids of some pending rows, at most 10. */
  readonly pendingIds: readonly string[];
}

const PENDING_IDS_MAX = 10;

export const NOTHING: Erased = { erased: 0, pending: 0, oldestPendingMs: Infinity, pendingIds: [] };

export function together(one: Erased, other: Erased): Erased {
  return {
    erased: one.erased + other.erased,
    pending: one.pending + other.pending,
    oldestPendingMs: Math.min(one.oldestPendingMs, other.oldestPendingMs),
    pendingIds: [...one.pendingIds, ...other.pendingIds].slice(0, PENDING_IDS_MAX),
  };
}

/** A row that names the person. */
export interface Named {
  readonly id: string;
  readonly createdMs: number;
}

/** @param gone the ids of the erased rows */
export function outcomeOf(found: readonly Named[], gone: readonly string[]): Erased {
  const erased = new Set(gone);
  const left = found.filter(({ id }) => !erased.has(id));
  return {
    erased: found.length - left.length,
    pending: left.length,
    oldestPendingMs: Math.min(Infinity, ...left.map(({ createdMs }) => createdMs)),
    pendingIds: left.slice(0, PENDING_IDS_MAX).map(({ id }) => id),
  };
}

/**
 * An SQL expression: the id of the message that an event is about, or null. It reads the first key of the
 * text as `EVENT_DATA` writes it. A JSON function would fail for a whole page if one text holds an invalid
 * escape.
 */
export function messageIdIn(data: 'p.data' | 'l.data'): string {
  return `substring(${data} from '^[{]"(?:email_id|object":"message","id)":"([^"]+)"')`;
}

/**
 * An SQL expression: true for each text that may name the address.
 *
 * It removes quotes and backslashes. As `plainAddress` does, it makes the Kelvin sign (U+212A) a `k`, and
 * U+1FEF a backtick. `collate "C"`: with Turkish rules, Postgres would lower `I` to another letter than
 * JavaScript.
 *
 * @param needle `needleOf` the address.
 */
export function mayName(text: string, needle: `$${number}`): string {
  return `position(${needle} in lower(translate(${text} collate "C", '\u212a\u1fef"\\', 'k\`'))) > 0`;
}

/**
 * A part that every text with the address contains, once its quotes and backslashes are gone: mail may write
 * `"ann"@`, and JSON escapes both. Letters beyond ASCII are left out: a text may have them decomposed. An `i`
 * before such a letter is left out, too: `İ` becomes `i` and a dot here, and may stay one letter in Postgres.
 * The part ends before the domain, which a text may have in Unicode or in ASCII. Cost: when only the `@` is
 * left, each text with an `@` is read.
 */
export function needleOf(address: string): string {
  const local = address.slice(0, address.lastIndexOf('@')).replaceAll(/["\\]/g, '');
  const parts = `${local}@`.split(/i?[^\u0020-\u007e]+/);
  return parts.reduce((longest, part) => (part.length > longest.length ? part : longest));
}
