import type { WebhookId } from '@postrider/domain';
import type { Admission, ClaimedDelivery } from '@postrider/store';

/**
 * How many deliveries of a webhook may be in somebody's hands at once. It begins small, grows by one for each that has
 * ended since the last claim (8, 16, 24, 40, 64, 104, 128 while every round ends in time, much as TCP's slow start),
 * and falls back when the webhook fails.
 */
export const ROOM = { first: 8, most: 128, stuck: 32, failing: 4 } as const;

/** A webhook that has not yet been seen to answer gets this many of the fast lane's slots. */
export const UNPROVEN_IN_FAST_LANE = 2;
/** Webhooks remembered; the one that was longest not claimed for is forgotten first, and begins anew. */
const STANDINGS_MAX = 50_000;

interface Standing {
  room: number;
  /** In somebody's hands after the last claim, as far as this relay knows. */
  handed: number;
  /** Has been seen to end deliveries since it last failed. */
  proven: boolean;
  /** The claim that last served it; claims are counted from 1. */
  served: number;
}

const UNKNOWN: Standing = { room: ROOM.first, handed: 0, proven: false, served: 0 };

/**
 * What this relay knows of the webhooks it claims for. Kept in memory only: a relay that restarts begins every
 * webhook at the first room again, which costs a few milliseconds.
 */
export interface Admissions {
  of(webhookId: WebhookId): Admission;
  /**
   * In the order to claim for them: first those never served, then those served least lately. Without it, the first
   * few of many that are busy would take all that the workers can do.
   */
  inOrder(webhookIds: Iterable<WebhookId>): WebhookId[];
  /** Takes note of what a claim returned. */
  observe(claimed: readonly ClaimedDelivery[]): void;
  /** These were observed and then given back unqueued: that they left nobody's hands says nothing of the webhook. */
  takeBack(claimed: readonly ClaimedDelivery[]): void;
}

export function createAdmissions(): Admissions {
  const standings = new Map<WebhookId, Standing>();
  let claims = 0;

  function observeWebhook(webhookId: WebhookId, claimed: readonly ClaimedDelivery[]): void {
    const before = standings.get(webhookId) ?? UNKNOWN;
    const after = { ...standingAfter(before, claimed), served: claims };
    standings.delete(webhookId); // to the end: the map's order is the order of use
    standings.set(webhookId, after);
    forgetOldest(standings);
  }

  return {
    of(webhookId) {
      const { room, proven } = standings.get(webhookId) ?? UNKNOWN;
      return { webhookId, room, proven };
    },
    inOrder(webhookIds) {
      const served = (id: WebhookId) => standings.get(id)?.served ?? 0;
      return [...webhookIds].sort((a, b) => served(a) - served(b));
    },
    observe(claimed) {
      claims += 1;
      for (const [webhookId, deliveries] of byWebhook(claimed)) observeWebhook(webhookId, deliveries);
    },
    takeBack(claimed) {
      for (const { webhookId, delayMs } of claimed) {
        if (delayMs > 0) continue;
        const standing = standings.get(webhookId);
        if (standing !== undefined) standing.handed -= 1;
      }
    },
  };
}

function byWebhook(claimed: readonly ClaimedDelivery[]): Map<WebhookId, ClaimedDelivery[]> {
  const groups = new Map<WebhookId, ClaimedDelivery[]>();
  for (const delivery of claimed) {
    const group = groups.get(delivery.webhookId);
    if (group === undefined) groups.set(delivery.webhookId, [delivery]);
    else group.push(delivery);
  }
  return groups;
}

function standingAfter(before: Standing, claimed: readonly ClaimedDelivery[]): Omit<Standing, 'served'> {
  const inFlight = Math.max(...claimed.map((delivery) => delivery.inFlight));
  // What is only delayed is in nobody's way, and its leaving the queue would say nothing of the webhook.
  const handed = inFlight + claimed.filter((delivery) => delivery.delayMs === 0).length;
  if (claimed.some((delivery) => delivery.failing)) return { room: ROOM.failing, handed, proven: false };
  // Those that come back because their job or their worker was lost have not ended.
  const lapsed = claimed.filter((delivery) => delivery.lapsed).length;
  const ended = Math.max(0, before.handed - inFlight - lapsed);
  const most = claimed.some((delivery) => delivery.stuck) ? ROOM.stuck : ROOM.most;
  return { room: Math.min(most, before.room + ended), handed, proven: before.proven || ended > 0 };
}

function forgetOldest(standings: Map<WebhookId, Standing>): void {
  if (standings.size <= STANDINGS_MAX) return;
  const oldest = standings.keys().next();
  if (oldest.done !== true) standings.delete(oldest.value);
}
