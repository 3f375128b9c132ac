import type { WebhookId } from '@postrider/domain';
import type { Lane } from '@postrider/queue';
import type { ClaimedDelivery } from '@postrider/store';

/**
 * How many deliveries of a webhook may be in somebody's hands at once. It begins small, grows by one for each
 * that ends well (so it doubles every round, as TCP's slow start does), and falls back when the webhook fails.
 */
export const ROOM = { first: 8, most: 128, stuck: 32, failing: 4 } as const;

/** A webhook that has not yet been seen to answer gets this many of the fast lane's slots. */
const UNPROVEN_IN_FAST_LANE = 2;
/** Webhooks remembered; the one that was longest not claimed for is forgotten first, and begins anew. */
const STANDINGS_MAX = 50_000;

interface Standing {
  room: number;
  /** In somebody's hands after the last claim, as far as this relay knows. */
  handed: number;
  /** Has been seen to end deliveries since it last failed. */
  proven: boolean;
}

/**
 * What this relay knows of the webhooks it claims for. Kept in memory only: a relay that restarts begins every
 * webhook at the first room again, which costs a few milliseconds.
 */
export interface Admissions {
  roomOf(webhookId: WebhookId): number;
  /** Takes note of what a claim returned, and says which lane each delivery goes to. */
  observe(claimed: readonly ClaimedDelivery[]): Map<Lane, ClaimedDelivery[]>;
}

export function createAdmissions(): Admissions {
  const standings = new Map<WebhookId, Standing>();

  function observeWebhook(webhookId: WebhookId, claimed: readonly ClaimedDelivery[]): Lane[] {
    const before = standings.get(webhookId) ?? { room: ROOM.first, handed: 0, proven: false };
    const after = standingAfter(before, claimed);
    standings.delete(webhookId); // to the end: the map's order is the order of use
    standings.set(webhookId, after);
    forgetOldest(standings);
    return claimed.map((delivery, index) => laneOf(delivery, delivery.inFlight + index, after.proven));
  }

  return {
    roomOf: (webhookId) => standings.get(webhookId)?.room ?? ROOM.first,
    observe(claimed) {
      const lanes = new Map<Lane, ClaimedDelivery[]>([
        ['fast', []],
        ['slow', []],
      ]);
      for (const [webhookId, deliveries] of byWebhook(claimed)) {
        const chosen = observeWebhook(webhookId, deliveries);
        deliveries.forEach((delivery, index) => lanes.get(chosen[index] ?? 'slow')?.push(delivery));
      }
      return lanes;
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

function standingAfter(before: Standing, claimed: readonly ClaimedDelivery[]): Standing {
  const inFlight = Math.max(...claimed.map((delivery) => delivery.inFlight));
  const handed = inFlight + claimed.length;
  if (claimed.some((delivery) => delivery.failing)) return { room: ROOM.failing, handed, proven: false };
  const ended = Math.max(0, before.handed - inFlight);
  const most = claimed.some((delivery) => delivery.stuck) ? ROOM.stuck : ROOM.most;
  return { room: Math.min(most, before.room + ended), handed, proven: before.proven || ended > 0 };
}

function laneOf(delivery: ClaimedDelivery, position: number, proven: boolean): Lane {
  if (delivery.failing || delivery.stuck) return 'slow';
  return proven || position < UNPROVEN_IN_FAST_LANE ? 'fast' : 'slow';
}

function forgetOldest(standings: Map<WebhookId, Standing>): void {
  if (standings.size <= STANDINGS_MAX) return;
  const oldest = standings.keys().next();
  if (oldest.done !== true) standings.delete(oldest.value);
}
