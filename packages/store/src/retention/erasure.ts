import type { AccountId } from '@postrider/domain';

/** An erasure request, as one erasure pass reads it. */
export interface Erasure {
  readonly accountId: AccountId;
  /** As `plainAddress` writes it. */
  readonly address: string;
  /** As text. What came later is not meant, unless it belongs to a message that is. */
  readonly requestedAt: string;
  /** As text. Looks before this one have erased what is older. */
  readonly resumeFrom: string;
}

/** Result of one erasure pass for one kind of row. */
export interface Erased {
  readonly erased: number;
  /** Rows that have to stay for now: outstanding, or locked. */
  readonly pending: number;
  /** Of those, when the oldest was made, in milliseconds since 1970. */
  readonly oldestPendingMs: number;
  /** Of those, the ids of some. */
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

/** @param gone the ids of those that were erased. */
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

/** What every text that holds an address has in it: the domain may be written in two ways. */
export function needleOf(address: string): string {
  return address.slice(0, address.lastIndexOf('@') + 1);
}
