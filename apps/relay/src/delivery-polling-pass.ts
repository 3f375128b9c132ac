import type { WebhookId } from '@postrider/domain';
import type { DeliveryOutbox } from '@postrider/store';
import { REFILL_AT, STUCK_AFTER_SECONDS, WAITING_MAX, WEBHOOKS_PER_CLAIM } from './delivery-claims.ts';
import type { DeliveryClaims } from './delivery-claims.ts';

export interface PollingPassParts {
  readonly store: Pick<DeliveryOutbox, 'scan'>;
  readonly claims: DeliveryClaims;
  /** Monotonic clock, in milliseconds. */
  readonly nowMs?: () => number;
}

/**
 * Extra jobs after each scan, for webhooks of a lane that is not refilled. Otherwise webhooks with new
 * events could keep the lane full and starve the rest.
 */
const WAITING_EXTRA = 32;
const WEBHOOKS_PER_SCAN = 1_000;
/**
 * Webhooks per claim. A larger claim would add hundreds of jobs at once when many endpoints wait for a retry.
 * That would block the relay and Redis for tens of milliseconds.
 */
const WEBHOOKS_PER_POLLING_CLAIM = 48;

/**
 * Pause between two runs while there is work. The pause is at least as long as the run took, so the database
 * can rest.
 */
const BUSY_PAUSE_MS = 10;
/** Shortest time between two scans of all webhooks with outstanding deliveries. */
const SCAN_EVERY_MS = 250;
/** Scans take at most this share of the time, so a slow scan runs less often. */
const SCAN_SHARE_MAX = 0.02;
/** Longest time between two scans. */
const SCAN_EVERY_MAX_MS = 2_000;
/**
 * The polling pass drops a webhook after this many runs without work. The scan and the sweep find it again.
 */
const PASSES_WITHOUT_WORK_MAX = 10;

/**
 * Claims for all webhooks that may have due deliveries. The scan treats a retry, a replay, a fresh event and
 * a lost job alike: each is a due row without a lease.
 */
export class PollingPass {
  readonly #store: PollingPassParts['store'];
  readonly #claims: DeliveryClaims;
  readonly #nowMs: () => number;
  /** Webhooks to claim for, and how many runs found no work for each. */
  #active = new Map<WebhookId, number>();
  /** Webhooks that the current scan has not read yet. */
  #toScan: WebhookId[] = [];
  /** Time that the current scan has taken so far. */
  #scanTookMs = 0;
  /** Webhooks with a stuck first attempt in the current scan, and in the scan before. */
  #stuck = { now: new Set<WebhookId>(), before: new Set<WebhookId>() };
  #scanDueAt = 0;
  #restUntil = 0;

  constructor({ store, claims, nowMs = () => performance.now() }: PollingPassParts) {
    this.#store = store;
    this.#claims = claims;
    this.#nowMs = nowMs;
  }

  /** The next run claims for these webhooks. It repeats this until 10 runs found no work for a webhook. */
  add(webhooks: readonly WebhookId[]): void {
    for (const id of webhooks) this.#keepActive(id, 0);
  }

  /** The next run claims for these webhooks, once. It repeats this only while their lanes are full. */
  addOnce(webhooks: readonly WebhookId[]): void {
    for (const id of webhooks) this.#keepActive(id, PASSES_WITHOUT_WORK_MAX);
  }

  /** Runs once. @returns the pause before the next run in milliseconds, unless a webhook is added first. */
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
    const active = this.#active; // includes webhooks added during the scan
    this.#active = new Map();
    try {
      await this.#claimAll(active, scanned);
    } catch (error) {
      for (const id of active.keys()) this.#keepActive(id, 0);
      throw error;
    }
  }

  /** Scans up to 1,000 webhooks; the next run continues. @returns true when the scan is complete. */
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
      // A claim takes the oldest rows of a lane. With one lane, nothing is in flight unless the first row is
      // leased.
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

  /**
   * A webhook counts as stuck after two scans in a row. One scan is not enough: the database may have
   * recorded the end of the attempt late.
   */
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

  /** The next webhooks to serve, per lane (at most 500). */
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

  /** Splits webhooks by queue depth: `waiting` have more than REFILL_AT jobs waiting in all their lanes. */
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
