import { ACCOUNT_SHARE } from '@postrider/runtime';
import { FIRST_LIMIT } from './webhook-state.ts';
import type { AccountState, WebhookLimit, WebhookState } from './webhook-state.ts';

/**
 * While the relay knows another account, a quick webhook gets at most this fraction of the slots. Of a
 * worker's 768 slots it is 48. Each attempt takes 100 ms or less, so 48 slots make at least 480 deliveries
 * a second.
 */
const QUICK_FRACTION = 1 / 16;

/** A webhook of the next claim. */
export type AskingWebhook = Pick<WebhookState, 'account' | 'grownLimit' | 'inFlight' | 'isQuick' | 'lane'>;

export interface Capacity {
  /** Slots that all workers together announce. */
  readonly slots: number;
  /** The relay knows at most one account. */
  readonly oneAccount: boolean;
  /** Accounts that have their whole share in flight, or whose limit keeps due deliveries waiting. */
  readonly needingShare: ReadonlySet<AccountState>;
}

/**
 * Returns the concurrency limit of each webhook. An attempt that waits costs a socket, not a processor. So
 * the limits do not protect the workers: they leave attempts for other accounts.
 *
 * limit = min(own, max(fair, in flight + spare))
 *
 * - `own` has grown with the attempts that ended. Beside other accounts, it is at most a sixteenth of the
 *   slots for a quick webhook.
 * - `fair` is the account's limit, divided by the number of its webhooks that have deliveries in flight or
 *   are in this claim. It is at least one.
 * - `spare` is what the account has left of its limit, divided by its webhooks in this claim.
 */
export function webhookLimits(asking: readonly AskingWebhook[], capacity: Capacity): WebhookLimit[] {
  const { slots, oneAccount } = capacity;
  const byAccount = Map.groupBy(asking, ({ account }) => account);
  return asking.map((webhook) => {
    const { account, inFlight, isQuick, grownLimit } = webhook;
    const siblings = byAccount.get(account) ?? [];
    const starting = siblings.filter((sibling) => sibling.inFlight === 0).length;
    const ofAccount = accountLimit(webhook, capacity);
    const fair = Math.max(1, Math.floor(ofAccount / (account.busyWebhooks + starting)));
    const spare = Math.ceil((ofAccount - account.inFlight) / siblings.length);
    const own = isQuick && !oneAccount ? Math.min(grownLimit, quickLimit(slots)) : grownLimit;
    const limit = Math.min(own, Math.max(fair, inFlight + spare));
    return { limit, isCutByAccount: limit < own };
  });
}

/**
 * The share limits an account only while another account needs its share. A slow attempt may last ten
 * seconds, so in the slow lane the share always applies.
 */
function accountLimit({ account, lane }: AskingWebhook, { slots, needingShare }: Capacity): number {
  const others = needingShare.size - Number(needingShare.has(account));
  return lane === 'fast' && others === 0 ? slots : accountShare(slots);
}

/** The share of an account: it may have this many deliveries in flight, whatever other accounts have. */
export function accountShare(slots: number): number {
  return fractionOf(slots, ACCOUNT_SHARE);
}

/** Above this limit, deliveries of a quick webhook wait in the workers. */
export function quickLimit(slots: number): number {
  return fractionOf(slots, QUICK_FRACTION);
}

function fractionOf(slots: number, fraction: number): number {
  return Math.max(FIRST_LIMIT, Math.floor(slots * fraction));
}
