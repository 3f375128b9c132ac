import type { WebhookId } from '@postrider/domain';
import type { DeliveryOutbox } from '@postrider/store';
import { REFILL_AT, STUCK_AFTER_SECONDS, WAITING_MAX, WEBHOOKS_PER_CLAIM } from './delivery-claims.ts';
import type { DeliveryClaims } from './delivery-claims.ts';

export interface PollingPassParts {
  readonly store: Pick<DeliveryOutbox, 'scan'>;
  readonly claims: DeliveryClaims;
  /** A monotonic clock. */
  readonly nowMs?: () => number;
}

export interface PollingPass {
  /** These webhooks have work: they are claimed for in the next round. */
  add(webhooks: readonly WebhookId[]): void;
  /** These webhooks may have work: they are claimed for once. */
  addOnce(webhooks: readonly WebhookId[]): void;
  /** One turn. @returns the pause before the next, in milliseconds, unless something is noted. */
  run(): Promise<number>;
}

/**
 * At the end of each scan webhooks whose lane has enough jobs get this many more. Otherwise webhooks with new events
 * could keep the lane full and starve the rest.
 */
const WAITING_EXTRA = 32;
const WEBHOOKS_PER_SCAN = 1_000;
/**
 * A round claims for so few at a time: of hundreds of endpoints that wait for a retry a claim puts a job each into the queue at
 * once, and for tens of milliseconds neither the relay nor Redis does anything else.
 */
const WEBHOOKS_PER_POLLING_CLAIM = 48;

/** While there is work, the next round comes this soon; the database rests at least as long as it worked. */
const BUSY_PAUSE_MS = 10;
/** How often every webhook that is known to have outstanding deliveries is looked at. */
const SCAN_EVERY_MS = 250;
/** A scan of thousands of webhooks, or on a busy machine, takes at most this share of the time... */
const SCAN_SHARE_MAX = 0.02;
/** ...until it would come as seldom as this. */
const SCAN_EVERY_MAX_MS = 2_000;
/** A webhook that may have more to do is asked again for this many passes without work before it is left to scan and sweep. */
const PASSES_WITHOUT_WORK_MAX = 10;

/**
 * Claims in rounds for all webhooks that have work. To the scan a retry, a replay, a fresh event and a job that was lost
 * are all the same: a row that is due and not leased.
 */
export function createPollingPass(parts: PollingPassParts): PollingPass {
  return new Rounds(parts);
}

class Rounds implements PollingPass {
  readonly #store: PollingPassParts['store'];
  readonly #claims: DeliveryClaims;
  readonly #nowMs: () => number;
  /** Webhooks to claim for, each with the passes it has been without work. */
  #active = new Map<WebhookId, number>();
  /** What is left of this scan. */
  #toScan: WebhookId[] = [];
  /** What this scan has taken so far. */
  #scanTookMs = 0;
  /** Whose first attempt is stuck: found in this scan, and in the one before. */
  #stuck = { now: new Set<WebhookId>(), before: new Set<WebhookId>() };
  #scanDueAt = 0;
  #restUntil = 0;

  constructor({ store, claims, nowMs = () => performance.now() }: PollingPassParts) {
    this.#store = store;
    this.#claims = claims;
    this.#nowMs = nowMs;
  }

  add(webhooks: readonly WebhookId[]): void {
    for (const id of webhooks) this.#keepActive(id, 0);
  }

  addOnce(webhooks: readonly WebhookId[]): void {
    for (const id of webhooks) this.#keepActive(id, PASSES_WITHOUT_WORK_MAX);
  }

  async run(): Promise<number> {
    const begun = this.#nowMs();
    if (begun < this.#restUntil) return this.#restUntil - begun;
    await this.#scanAndClaim(begun);
    const now = this.#nowMs();
    this.#restUntil = now + Math.max(BUSY_PAUSE_MS, now - begun);
    const hasWork = this.#active.size > 0 || this.#toScan.length > 0;
    return (hasWork ? this.#restUntil : Math.max(this.#restUntil, this.#scanDueAt)) - now;
  }

  async #scanAndClaim(begun: number): Promise<void> {
    const scanned = begun >= this.#scanDueAt && (await this.#scan());
    const active = this.#active; // what was noted during the scan as well
    this.#active = new Map();
    try {
      await this.#claimAll(active, scanned);
    } catch (error) {
      for (const id of active.keys()) this.#keepActive(id, 0);
      throw error;
    }
  }

  /** One step over the webhooks with outstanding deliveries; the next turn goes on. @returns true with the last. */
  async #scan(): Promise<boolean> {
    const { outstanding, limits } = this.#claims;
    if (this.#toScan.length === 0) this.#toScan = outstanding.takeAll();
    const requests = outstanding.scanRequests(this.#toScan.slice(0, WEBHOOKS_PER_SCAN));
    if (requests.length === 0) {
      this.#endScan();
      return true;
    }
    const lookAheadSeconds = await this.#claims.lookAheadSeconds();
    const begun = this.#nowMs();
    const found = await this.#store.scan(requests, {
      lookAheadSeconds,
      stuckAfterSeconds: STUCK_AFTER_SECONDS,
    });
    this.#toScan = this.#toScan.slice(WEBHOOKS_PER_SCAN);
    this.#scanTookMs += this.#nowMs() - begun;
    outstanding.scanned(requests, found);
    for (const { webhookId, dueSoon, leased, firstDue, stuck } of found) {
      // Claims take the oldest rows of a lane. Where there is one lane, the first row is in flight if any is.
      const oneLane = this.#claims.possibleLanes(webhookId).length === 1;
      if (firstDue === null || (!leased && oneLane)) limits.noteIdle(webhookId, begun);
      if (stuck) this.#noteStuck(webhookId);
      if (dueSoon && (!leased || limits.isAtLimit(webhookId))) this.addOnce([webhookId]);
    }
    if (this.#toScan.length > 0) return false;
    this.#endScan();
    return true;
  }

  #endScan(): void {
    this.#stuck = { now: new Set(), before: this.#stuck.now };
    const restMs = Math.min(SCAN_EVERY_MAX_MS, Math.max(SCAN_EVERY_MS, this.#scanTookMs / SCAN_SHARE_MAX));
    this.#scanTookMs = 0;
    this.#scanDueAt = this.#nowMs() + restMs;
  }

  /** It hangs if it was stuck the last time, too: once, and the database may have been slow to take note of an end. */
  #noteStuck(webhookId: WebhookId): void {
    this.#stuck.now.add(webhookId);
    if (this.#stuck.before.has(webhookId)) this.#claims.limits.noteStuck(webhookId);
  }

  async #claimAll(active: Map<WebhookId, number>, scanned: boolean): Promise<void> {
    const { waiting, others } = await this.#splitByQueueDepth([...active.keys()]);
    for (const id of waiting) this.#keepActive(id, 0);
    for (const some of scanned ? this.#longestWaitingPerLane(waiting) : [])
      await this.#claimFor(some, active, WAITING_MAX + WAITING_EXTRA);
    const rest = this.#claims.limits.claimOrder(others);
    while (rest.length > 0)
      await this.#claimFor(rest.splice(0, WEBHOOKS_PER_POLLING_CLAIM), active, WAITING_MAX);
  }

  /** For each lane, by itself, those of whom it is the turn. */
  #longestWaitingPerLane(waiting: readonly WebhookId[]): WebhookId[][] {
    const inOrder = this.#claims.limits.claimOrder(waiting);
    const fast = inOrder
      .filter((id) => this.#claims.possibleLanes(id).includes('fast'))
      .slice(0, WEBHOOKS_PER_CLAIM);
    const isFast = new Set(fast);
    const slow = inOrder.filter((id) => !isFast.has(id)).slice(0, WEBHOOKS_PER_CLAIM);
    return [fast, slow].filter((some) => some.length > 0);
  }

  async #claimFor(some: readonly WebhookId[], active: Map<WebhookId, number>, waitingMax: number) {
    const { served, mayHaveMore, skipped, laneFull } = await this.#claims.claim(some, waitingMax);
    this.add(skipped);
    for (const id of mayHaveMore) {
      const hasMore = served.has(id) && this.#claims.limits.isAtLimit(id);
      const idle = this.#claims.possibleLanes(id).every((lane) => laneFull[lane]) ? 0 : 1;
      this.#keepActive(id, hasMore ? 0 : (active.get(id) ?? 0) + idle);
    }
  }

  /** Those whose lane has enough for now, and the others. */
  async #splitByQueueDepth(
    ids: readonly WebhookId[],
  ): Promise<{ waiting: WebhookId[]; others: WebhookId[] }> {
    if (ids.length === 0) return { waiting: [], others: [] };
    const depths = await this.#claims.depths();
    const hasEnough = (id: WebhookId): boolean =>
      this.#claims.possibleLanes(id).every((lane) => depths[lane].waiting > REFILL_AT);
    return { waiting: ids.filter(hasEnough), others: ids.filter((id) => !hasEnough(id)) };
  }

  #keepActive(id: WebhookId, passesWithoutWork: number): void {
    const passes = Math.min(passesWithoutWork, this.#active.get(id) ?? passesWithoutWork);
    if (passes <= PASSES_WITHOUT_WORK_MAX) this.#active.set(id, passes);
  }
}
