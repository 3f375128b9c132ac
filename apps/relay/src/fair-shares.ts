import { ACCOUNT_SHARE } from '@postrider/runtime';
import { FIRST_LIMIT } from './webhook-state.ts';
import type { AccountState, WebhookState } from './webhook-state.ts';

/**
 * The part of the slots for a webhook that answers quickly, beside other accounts. Of a worker's 768 slots it
 * is 48: they bring 480 deliveries a second or more.
 */
const QUICK_PART = 1 / 16;

/** A webhook that asks for a share. */
export type AskingWebhook = Pick<WebhookState, 'account' | 'ownLimit' | 'inFlight' | 'isQuick' | 'lane'>;

export interface Capacity {
  /** Slots that all workers together announce. */
  readonly slots: number;
  /** The relay knows one account only. */
  readonly oneAccount: boolean;
  /** The accounts that have their share in flight, or deliveries that wait for it. */
  readonly needingShare: ReadonlySet<AccountState>;
}

/**
 * Returns the share of each webhook: how many due deliveries it may have in flight. An attempt that waits
 * costs a socket, not a processor. So shares do not protect the workers: they keep slots free for others.
 *
 * share = min(own limit, max(fair, in flight + spare))
 *
 * - `fair` is the account's limit, divided by its webhooks that are busy or ask. It is at least one.
 * - `spare` is what the account has left of its limit, divided by its webhooks that ask.
 * - Beside other accounts, a quick webhook may have a sixteenth of the slots at most.
 */
export function fairShares(asking: readonly AskingWebhook[], capacity: Capacity): number[] {
  const { slots, oneAccount } = capacity;
  const byAccount = Map.groupBy(asking, ({ account }) => account);
  return asking.map((webhook) => {
    const { account, inFlight, isQuick, ownLimit } = webhook;
    const siblings = byAccount.get(account) ?? [];
    const starting = siblings.filter((sibling) => sibling.inFlight === 0).length;
    const limit = accountLimit(webhook, capacity);
    const fair = Math.max(1, Math.floor(limit / (account.busyWebhooks + starting)));
    const spare = Math.ceil((limit - account.inFlight) / siblings.length);
    const ownMax = isQuick && !oneAccount ? Math.min(ownLimit, quickLimit(slots)) : ownLimit;
    return Math.min(ownMax, Math.max(fair, inFlight + spare));
  });
}

/**
 * The share limits an account only while another one needs its share, too. A slow attempt may hold its slot
 * for ten seconds, so in the slow lane the share always applies.
 */
function accountLimit({ account, lane }: AskingWebhook, { slots, needingShare }: Capacity): number {
  const others = needingShare.size - Number(needingShare.has(account));
  return lane === 'fast' && others === 0 ? slots : accountShare(slots);
}

/** An account may have this many deliveries in flight, whatever others have. */
export function accountShare(slots: number): number {
  return partOf(slots, ACCOUNT_SHARE);
}

/** Above this limit, deliveries of a quick webhook wait in the workers. */
export function quickLimit(slots: number): number {
  return partOf(slots, QUICK_PART);
}

function partOf(slots: number, part: number): number {
  return Math.max(FIRST_LIMIT, Math.floor(slots * part));
}
