import type { WebhookId } from '@postrider/domain';
import type { Lane } from '@postrider/queue';
import type { Admission, ClaimedDelivery } from '@postrider/store';

/**
 * How many deliveries of a webhook may be in somebody's hands at once. It begins small, grows by one for each that has
 * ended since the last claim (8, 16, 24, 40, 64, 104, 168, 256 while every round ends in time, much as TCP's slow start),
 * and falls back when the webhook fails. Beyond `crowded` it grows only while that makes nobody wait: where the workers
 * are what everyone waits for, more in their hands would be a longer queue and no more work done. An endpoint that answers
 * quickly needs no more than `shared` to be busy, and while others are served, too, gets no more: they wait behind it.
 */
export const ROOM = { first: 8, most: 256, shared: 48, crowded: 32, stuck: 32, failing: 4 } as const;

/** Others have been served within this time. */
const COMPANY_MS = 2_000;
/** Quick: a delivery has been in hand for no longer than this. */
const QUICK_MS = 50;

/** Crowded: a delivery is in hand for longer than this, and than twice the webhook's own shortest time. */
const CROWDED_MS = 80;
const CROWDED_FACTOR = 2;
/** Weight of the latest of the times in hand. */
const LATEST_WEIGHT = 0.2;
/** What is left of a room that is crowded. */
const SHRINK = 0.9;
/** A shortest time that is no longer reached counts as twice as long after this: the endpoint may have become slower. */
const FORGET_MS = 300_000;
/** What took longer says nothing of the workers: the webhook had rested, or a lease had to run out. */
const SAMPLE_MS_MAX = 2_000;

/** How much of a webhook's room is in the fast lane. */
const FAST_ROOM: Readonly<Record<Trust, (room: number) => number>> = {
  proven: (room) => room,
  unknown: () => 1, // of many that hang and are met together each costs the lane a slot, and they run out of time together
  suspect: () => 0,
};
/** Webhooks remembered; the one that was longest not claimed for is forgotten first, and begins anew. */
const STANDINGS_MAX = 50_000;

/**
 * Proven: it has been seen to end deliveries since it last failed or hung. Suspect: it was last seen to hang; when its
 * attempts have run out of time, they have ended too, and that says nothing good of it.
 */
type Trust = 'proven' | 'unknown' | 'suspect';

interface Standing {
  room: number;
  /** In somebody's hands after the last claim, as far as this relay knows. */
  handed: number;
  /** The last claim saw as many as the room holds: there may be more behind them. */
  filled: boolean;
  trust: Trust;
  /** It has been seen to hang since it was last served. */
  hung: boolean;
  /** The claim that last served it; claims are counted from 1. */
  served: number;
  /** When it was last served. */
  servedAtMs: number;
  /** How long a delivery is in hand, of late and at its shortest; null until it is known. */
  heldMs: { readonly lately: number; readonly shortest: number } | null;
}

const UNKNOWN: Standing = {
  room: ROOM.first,
  handed: 0,
  filled: false,
  trust: 'unknown',
  hung: false,
  served: 0,
  servedAtMs: 0,
  heldMs: null,
};

/**
 * What this relay knows of the webhooks it claims for. Kept in memory only: a relay that restarts begins every
 * webhook at the first room again, which costs a few milliseconds.
 */
export interface Admissions {
  of(webhookId: WebhookId): Omit<Admission, 'front'>;
  /** It hangs. */
  suspect(webhookId: WebhookId): void;
  /** Its last claim filled its room, be it with what waits for its time. */
  isFull(webhookId: WebhookId): boolean;
  /** Where its deliveries go, as far as is known: to the fast lane when it answers, to the slow one when it fails. */
  laneOf(webhookId: WebhookId): Lane | null;
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

/** @param nowMs a monotonic clock */
export function createAdmissions(nowMs = () => performance.now()): Admissions {
  const standings = new Map<WebhookId, Standing>();
  let claims = 0;
  let lastServed: WebhookId | null = null;
  let companyUntilMs = 0;

  function observeWebhook(webhookId: WebhookId, claimed: readonly ClaimedDelivery[]): void {
    const before = standings.get(webhookId) ?? UNKNOWN;
    if (lastServed !== null && lastServed !== webhookId) companyUntilMs = nowMs() + COMPANY_MS;
    lastServed = webhookId;
    const alone = nowMs() >= companyUntilMs;
    const after = { ...standingAfter(before, claimed, { servedAtMs: nowMs(), alone }), served: claims };
    standings.delete(webhookId); // to the end: the map's order is the order of use
    standings.set(webhookId, after);
    forgetOldest(standings);
  }

  return {
    of(webhookId) {
      const { room, trust } = standings.get(webhookId) ?? UNKNOWN;
      return { webhookId, room, fastRoom: FAST_ROOM[trust](room) };
    },
    suspect(webhookId) {
      standings.set(webhookId, { ...(standings.get(webhookId) ?? UNKNOWN), trust: 'suspect', hung: true });
      forgetOldest(standings);
    },
    isFull: (webhookId) => standings.get(webhookId)?.filled ?? false,
    laneOf(webhookId) {
      const { trust, room } = standings.get(webhookId) ?? UNKNOWN;
      if (trust === 'proven') return 'fast';
      return trust === 'suspect' || room === ROOM.failing ? 'slow' : null;
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

function standingAfter(
  before: Standing,
  claimed: readonly ClaimedDelivery[],
  { servedAtMs, alone }: { readonly servedAtMs: number; readonly alone: boolean },
): Omit<Standing, 'served'> {
  const inFlight = Math.max(...claimed.map((delivery) => delivery.inFlight));
  // What is only delayed is in nobody's way, and its leaving the queue would say nothing of the webhook.
  const handed = inFlight + claimed.filter((delivery) => delivery.delayMs === 0).length;
  // Not what it got: of two relays that claim at a time each gets a part.
  const seen = Math.max(...claimed.map((delivery) => delivery.seen));
  const hangs = claimed.some((delivery) => delivery.stuck);
  const fails = claimed.some((delivery) => delivery.failing);
  const had = fails ? Math.min(before.room, ROOM.failing) : before.room;
  const now = { handed, filled: seen >= had, servedAtMs };
  if (fails) {
    return { ...now, room: ROOM.failing, trust: 'unknown', hung: false, heldMs: null };
  }
  // Those that come back because their job or their worker was lost have not ended.
  const lapsed = claimed.filter((delivery) => delivery.lapsed).length;
  // The claim looked at no more rows than the room: where that has shrunk, the others may be in hand still.
  const expected = Math.min(before.handed, before.room);
  const ended = Math.max(0, expected - inFlight - lapsed);
  const sample = lapsed > 0 ? null : heldSample(expected, ended, servedAtMs - before.servedAtMs);
  const heldMs = sample === null ? before.heldMs : heldAfter(before.heldMs, sample);
  const isQuick = heldMs === null || heldMs.shortest <= QUICK_MS;
  const most = isQuick && !alone ? ROOM.shared : ROOM.most;
  const room = Math.min(hangs ? ROOM.stuck : most, roomAfter(before.room, ended, heldMs));
  return { ...now, room, trust: trustAfter(before, hangs, ended), hung: false, heldMs };
}

function trustAfter(before: Standing, hangs: boolean, ended: number): Trust {
  // What has ended since it hung may have ended by running out of time.
  if (before.trust === 'suspect' && (before.hung || hangs)) return 'suspect';
  return ended > 0 ? 'proven' : before.trust;
}

function roomAfter(room: number, ended: number, heldMs: Standing['heldMs']): number {
  const crowded = heldMs !== null && heldMs.lately > Math.max(CROWDED_MS, CROWDED_FACTOR * heldMs.shortest);
  if (!crowded) return room + ended;
  return room > ROOM.crowded
    ? Math.max(ROOM.crowded, Math.floor(room * SHRINK))
    : Math.min(ROOM.crowded, room + ended);
}

interface HeldSample {
  readonly heldMs: number;
  /** So long at the most: where most have ended, nobody knows how long ago. */
  readonly isBound: boolean;
  readonly elapsedMs: number;
}

/** Little's law: in hand = rate × time. */
function heldSample(handed: number, ended: number, elapsedMs: number): HeldSample | null {
  if (ended === 0 || elapsedMs > SAMPLE_MS_MAX) return null;
  return { heldMs: (handed * elapsedMs) / ended, isBound: ended > handed / 2, elapsedMs };
}

function heldAfter(before: Standing['heldMs'], sample: HeldSample): Standing['heldMs'] {
  if (before === null) return { lately: sample.heldMs, shortest: sample.heldMs };
  if (sample.isBound && sample.heldMs >= before.lately) return before;
  const lately = before.lately + LATEST_WEIGHT * (sample.heldMs - before.lately);
  return { lately, shortest: Math.min(lately, before.shortest * 2 ** (sample.elapsedMs / FORGET_MS)) };
}

function forgetOldest(standings: Map<WebhookId, Standing>): void {
  if (standings.size <= STANDINGS_MAX) return;
  const oldest = standings.keys().next();
  if (oldest.done !== true) standings.delete(oldest.value);
}
