import type { Lane } from '@postrider/queue';
import { ACCOUNT_SHARE } from '@postrider/runtime';

/**
 * How many deliveries may be in flight. A waiting attempt costs a socket, not a processor. So the limits keep
 * one account's endpoints from taking the slots of all others; they do not protect the workers.
 */
export const CONCURRENCY_LIMITS = {
  /** A webhook that is new to the relay, or failing. If it hangs, it holds these slots for ten seconds. */
  first: 8,
  /**
   * The part of the slots for a webhook that answers quickly, beside other accounts. Of a worker's 768 slots
   * it is 48: they bring 480 deliveries a second or more.
   */
  quickPart: 1 / 16,
} as const;

/** Two counts over the webhooks of an account. */
export interface AccountCounts {
  readonly inFlight: number;
  /** Webhooks with deliveries in flight. */
  readonly busyWebhooks: number;
}

/** A webhook that asks for a share. */
export interface Contender {
  readonly account: AccountCounts;
  /** Its own history allows this many. */
  readonly ownLimit: number;
  readonly inFlight: number;
  /** Its answers come quickly, so a small number in flight is enough. */
  readonly isQuick: boolean;
  readonly lane: Lane;
}

export interface Capacity {
  /** Slots that all workers together announce. */
  readonly slots: number;
  /** The relay knows one account only. */
  readonly oneAccount: boolean;
  /** The accounts that have their share in flight, or deliveries that wait for it. */
  readonly needingShare: ReadonlySet<AccountCounts>;
}

/**
 * Returns the share of each webhook: how many due deliveries it may have in flight.
 *
 * share = min(own limit, max(fair, in flight + spare))
 *
 * - `fair` is the account's limit, divided by its webhooks that are busy or ask. It is at least one.
 * - `spare` is what the account has left of its limit, divided by its webhooks that ask.
 * - Beside other accounts, a quick webhook may have a sixteenth of the slots at most.
 */
export function fairShares(asking: readonly Contender[], capacity: Capacity): number[] {
  const byAccount = Map.groupBy(asking, ({ account }) => account);
  return asking.map((webhook) => {
    const { account, inFlight } = webhook;
    const siblings = byAccount.get(account) ?? [];
    const starting = siblings.filter((sibling) => sibling.inFlight === 0).length;
    const limit = accountLimit(webhook, capacity);
    const fair = Math.max(1, Math.floor(limit / (account.busyWebhooks + starting)));
    const spare = Math.ceil((limit - account.inFlight) / siblings.length);
    return Math.min(ownMax(webhook, capacity), Math.max(fair, inFlight + spare));
  });
}

/** An account may have this many deliveries in flight, whatever others have. */
export function accountShare(slots: number): number {
  return partOf(slots, ACCOUNT_SHARE);
}

/**
 * The share limits an account only while another one needs its share, too. A slow attempt may hold its slot
 * for ten seconds, so in the slow lane the share always applies.
 */
function accountLimit({ account, lane }: Contender, { slots, needingShare }: Capacity): number {
  const others = needingShare.size - Number(needingShare.has(account));
  return lane === 'fast' && others === 0 ? slots : accountShare(slots);
}

function ownMax({ ownLimit, isQuick }: Contender, { slots, oneAccount }: Capacity): number {
  return isQuick && !oneAccount ? Math.min(ownLimit, quickLimit(slots)) : ownLimit;
}

/** Above this limit, deliveries of a quick webhook wait in the workers. */
export function quickLimit(slots: number): number {
  return partOf(slots, CONCURRENCY_LIMITS.quickPart);
}

function partOf(slots: number, part: number): number {
  return Math.max(CONCURRENCY_LIMITS.first, Math.floor(slots * part));
}
