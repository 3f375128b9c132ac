import type { WebhookId } from '@postrider/domain';
import type { DeliveryTimetable, Front } from '@postrider/store';
import { REFILL_AT, STUCK_AFTER_SECONDS, WAITING_MAX, WEBHOOKS_PER_CLAIM } from './delivery-claims.ts';
import type { DeliveryClaims } from './delivery-claims.ts';

export interface DeliveryRoundsParts {
  readonly store: Pick<DeliveryTimetable, 'walk'>;
  readonly claims: DeliveryClaims;
  /** A monotonic clock. */
  readonly nowMs?: () => number;
}

export interface DeliveryRounds {
  /** These webhooks have work: they are claimed for in the next round. */
  note(webhooks: readonly WebhookId[]): void;
  /** Something may have been missed: the next turn looks at every webhook with outstanding work. */
  noteEverything(): void;
  /** Where a webhook with a backlog begins, as the last walk found it. */
  frontOf(webhookId: WebhookId): Front | undefined;
  /** One turn. @returns the pause before the next, in milliseconds, unless something is noted. */
  turn(): Promise<number>;
}

/**
 * At the end of each walk those whose lane has enough get their turn all the same, for so many jobs more than else may wait
 * there: or others, whose news keep the lane full, would starve them.
 */
const IN_TURN = 32;
const WEBHOOKS_PER_WALK = 1_000;
/**
 * A round claims for so few at a time: of hundreds of endpoints that wait for a retry a claim puts a job each into the queue at
 * once, and for tens of milliseconds neither the relay nor Redis does anything else.
 */
const WEBHOOKS_AT_ONCE = 48;

/** While there is work, the next round comes this soon; the database rests at least as long as it worked. */
const BUSY_PAUSE_MS = 10;
/** How often every webhook with outstanding work is looked at: the pass that finds whatever was lost. */
const WALK_EVERY_MS = 250;
/** A walk over thousands of webhooks, or on a busy machine, takes no more than this share of the time... */
const WALK_SHARE_MAX = 0.02;
/** ...until it would come as seldom as this. */
const WALK_EVERY_MAX_MS = 2_000;
/**
 * How often a walk also has those webhooks claimed for whose first delivery is in somebody's hands, and
 * whose room was not full. What is behind it has mostly been heard of; where thousands of endpoints wait for a retry,
 * looking at them all each time would be most of what the relay does.
 */
const HELD_TOO_EVERY_MS = 2_000;
/** A webhook that may have more to do is asked again for this many turns without work before it is left to the walk. */
const TURNS_WITHOUT_WORK_MAX = 10;

/**
 * Claims in rounds for all webhooks that have work, and finds by itself what nobody told of: a retry, a
 * replay, a fresh event and a job that was lost are all the same here, a row that is due and in nobody's hands.
 */
export function createDeliveryRounds(parts: DeliveryRoundsParts): DeliveryRounds {
  return new Rounds(parts);
}

class Rounds implements DeliveryRounds {
  readonly #store: DeliveryRoundsParts['store'];
  readonly #claims: DeliveryClaims;
  readonly #nowMs: () => number;
  /** Webhooks to claim for, each with the turns it has been without work. */
  #active = new Map<WebhookId, number>();
  #walkCursor = '';
  /** What this round of the walk has taken so far. */
  #walkTookMs = 0;
  /** In this round of the walk also those whose first delivery is in hand are claimed for. */
  #heldToo = false;
  #heldTooDueAt = 0;
  /** To be walked over once more, when this walk has ended: what it has passed may have been missed. */
  #again = false;
  /** Whose first attempt is stuck: found in this round of the walk, and in the one before. */
  #stuck = { now: new Set<WebhookId>(), before: new Set<WebhookId>() };
  /** Where webhooks begin, found in this round of the walk, and in the one before. */
  #fronts = { now: new Map<WebhookId, Front>(), before: new Map<WebhookId, Front>() };
  #walkDueAt = 0;
  #restUntil = 0;

  constructor({ store, claims, nowMs = () => performance.now() }: DeliveryRoundsParts) {
    this.#store = store;
    this.#claims = claims;
    this.#nowMs = nowMs;
  }

  note(webhooks: readonly WebhookId[]): void {
    for (const id of webhooks) this.#keepActive(id, 0);
  }

  noteEverything(): void {
    this.#walkDueAt = 0;
    this.#again = true;
  }

  async turn(): Promise<number> {
    const begun = this.#nowMs();
    if (begun < this.#restUntil) return this.#restUntil - begun;
    await this.#round(begun);
    const now = this.#nowMs();
    this.#restUntil = now + Math.max(BUSY_PAUSE_MS, now - begun);
    const hasWork = this.#active.size > 0 || this.#walkCursor !== '';
    return (hasWork ? this.#restUntil : Math.max(this.#restUntil, this.#walkDueAt)) - now;
  }

  async #round(begun: number): Promise<void> {
    const found = new Map<WebhookId, number>();
    const walked = begun >= this.#walkDueAt && (await this.#walk(found));
    const active = new Map([...found, ...this.#active]); // what was noted during the walk as well
    this.#active = new Map();
    try {
      await this.#claimAll(active, walked);
    } catch (error) {
      for (const id of active.keys()) this.#keepActive(id, 0);
      throw error;
    }
  }

  /** One step over the webhooks with outstanding work; the next turn goes on where it ended. @returns true with the last. */
  async #walk(worthALook: Map<WebhookId, number>): Promise<boolean> {
    const lookAheadSeconds = await this.#claims.lookAheadSeconds();
    const begun = this.#nowMs();
    if (this.#walkCursor === '') this.#beginWalk(begun);
    const { webhooks, cursor } = await this.#store.walk(this.#walkCursor, WEBHOOKS_PER_WALK, {
      lookAheadSeconds,
      stuckAfterSeconds: STUCK_AFTER_SECONDS,
    });
    this.#walkTookMs += this.#nowMs() - begun;
    for (const { webhookId, held, stuck, front } of webhooks) {
      if (front !== null) this.#fronts.now.set(webhookId, front);
      if (stuck) this.#noteStuck(webhookId);
      if (this.#heldToo || !held || this.#claims.admissions.isFull(webhookId)) {
        worthALook.set(webhookId, TURNS_WITHOUT_WORK_MAX);
      }
    }
    this.#walkCursor = cursor ?? '';
    if (cursor === null) this.#endWalk();
    return cursor === null;
  }

  #beginWalk(nowMs: number): void {
    if (this.#again) this.#heldTooDueAt = 0;
    this.#again = false;
    this.#heldToo = nowMs >= this.#heldTooDueAt;
  }

  #endWalk(): void {
    this.#stuck = { now: new Set(), before: this.#stuck.now };
    this.#fronts = { now: new Map(), before: this.#fronts.now };
    const now = this.#nowMs();
    const restMs = Math.min(WALK_EVERY_MAX_MS, Math.max(WALK_EVERY_MS, this.#walkTookMs / WALK_SHARE_MAX));
    this.#walkTookMs = 0;
    this.#walkDueAt = this.#again ? 0 : now + restMs;
    if (this.#heldToo) this.#heldTooDueAt = now + HELD_TOO_EVERY_MS;
  }

  /** It hangs if it was stuck the last time, too: once, and the database may have been slow to take note of an end. */
  #noteStuck(webhookId: WebhookId): void {
    this.#stuck.now.add(webhookId);
    if (this.#stuck.before.has(webhookId)) this.#claims.admissions.suspect(webhookId);
  }

  async #claimAll(active: Map<WebhookId, number>, walked: boolean): Promise<void> {
    const { waiting, others } = await this.#byLane([...active.keys()]);
    for (const id of waiting) this.#keepActive(id, 0);
    for (const some of walked ? this.#inTurn(waiting) : [])
      await this.#claimFor(some, active, WAITING_MAX + IN_TURN);
    const rest = this.#claims.admissions.inOrder(others);
    while (rest.length > 0) await this.#claimFor(rest.splice(0, WEBHOOKS_AT_ONCE), active, WAITING_MAX);
  }

  /** For each lane, by itself, those of whom it is the turn. */
  #inTurn(waiting: readonly WebhookId[]): WebhookId[][] {
    const inOrder = this.#claims.admissions.inOrder(waiting);
    const fast = inOrder
      .filter((id) => this.#claims.lanesOf(id).includes('fast'))
      .slice(0, WEBHOOKS_PER_CLAIM);
    const isFast = new Set(fast);
    const slow = inOrder.filter((id) => !isFast.has(id)).slice(0, WEBHOOKS_PER_CLAIM);
    return [fast, slow].filter((some) => some.length > 0);
  }

  async #claimFor(some: readonly WebhookId[], active: Map<WebhookId, number>, waitingMax: number) {
    const options = { waitingMax, frontOf: (id: WebhookId) => this.frontOf(id) };
    const { served, unfinished, passedOver, full } = await this.#claims.claim(some, options);
    this.note(passedOver);
    for (const id of unfinished) {
      const hasMore = served.has(id) && this.#claims.admissions.isFull(id);
      const idle = this.#claims.lanesOf(id).every((lane) => full[lane]) ? 0 : 1;
      this.#keepActive(id, hasMore ? 0 : (active.get(id) ?? 0) + idle);
    }
  }

  /**
   * Of a webhook with a backlog, which fills its room, only what comes after the first delivery that the walk has found:
   * what was recorded earlier and committed later waits for the next walk, as it would wait behind the backlog.
   */
  frontOf(id: WebhookId): Front | undefined {
    const { now, before } = this.#fronts;
    return this.#claims.admissions.isFull(id) ? (now.get(id) ?? before.get(id)) : undefined;
  }

  /** Those whose lane has enough for now, and the others. */
  async #byLane(ids: readonly WebhookId[]): Promise<{ waiting: WebhookId[]; others: WebhookId[] }> {
    if (ids.length === 0) return { waiting: [], others: [] };
    const depths = await this.#claims.depths();
    const hasEnough = (id: WebhookId): boolean =>
      this.#claims.lanesOf(id).every((lane) => depths[lane].waiting > REFILL_AT);
    return { waiting: ids.filter(hasEnough), others: ids.filter((id) => !hasEnough(id)) };
  }

  #keepActive(id: WebhookId, turnsWithoutWork: number): void {
    const turns = Math.min(turnsWithoutWork, this.#active.get(id) ?? turnsWithoutWork);
    if (turns <= TURNS_WITHOUT_WORK_MAX) this.#active.set(id, turns);
  }
}
