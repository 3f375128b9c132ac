import type { Lane } from '@postrider/queue';
import { ACCOUNT_SHARE } from '@postrider/runtime';

/**
 * How many deliveries may be in flight. A waiting attempt costs a socket, not a processor. So the limits keep
 * one account's endpoints from taking the slots of all others; they do not protect the workers.
 */
export const CONCURRENCY_LIMITS = {
  /** A webhook that is new to the relay, or failing. If it hangs, it holds these slots for ten seconds. */
  first: 8,
  /** A webhook that answers quickly, beside others: with 48 it gets 480 deliveries a second. */
  quick: 48,
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
  /** The relay serves one account only. Then no other account waits for its slots. */
  readonly oneAccount: boolean;
}

/**
 * Returns the share of each webhook: how many due deliveries it may have in flight.
 *
 * share = min(own limit, max(fair, in flight + spare))
 *
 * - `fair` is the account's limit, divided by its webhooks that are busy or ask. It is at least one.
 * - `spare` is what the account has left of its limit, divided by its webhooks that ask.
 * - Beside other accounts, the own limit of a quick webhook is 48 at most.
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

/**
 * A slow attempt may hold its slot for ten seconds. So an account that is alone gets a quarter of the slow
 * lane, too.
 */
function accountLimit({ lane }: Contender, { slots, oneAccount }: Capacity): number {
  if (oneAccount && lane === 'fast') return slots;
  return Math.max(CONCURRENCY_LIMITS.first, Math.floor(slots * ACCOUNT_SHARE));
}

function ownMax({ ownLimit, isQuick }: Contender, { oneAccount }: Capacity): number {
  return isQuick && !oneAccount ? Math.min(ownLimit, CONCURRENCY_LIMITS.quick) : ownLimit;
}
