import type { WebhookId } from '@postrider/domain';
import type { Timetable } from '@postrider/queue';
import type { Admission, ClaimedDelivery, DeliveryTimetable, Front } from '@postrider/store';
import { createAdmissions, ROOM } from './admission.ts';
import { createLaneDepths } from './lane-depths.ts';
import type { LaneDepths } from './lane-depths.ts';

/** What the pass has of the store and of the queue. */
export interface DeliveryPassParts {
  readonly store: DeliveryTimetable;
  readonly queue: Pick<Timetable, 'addDeliveries' | 'depth'>;
  readonly leaseSeconds: number;
  /** Told what each claim came to. */
  readonly onClaim: (claimed: readonly ClaimedDelivery[]) => void;
  /** A monotonic clock. */
  readonly nowMs?: () => number;
}

export interface DeliveryPass {
  /** These webhooks have news: they are claimed for in the next turn, whenever that comes. */
  note(webhooks: readonly WebhookId[]): void;
  /** Something may have been missed: the next turn looks at every webhook with outstanding work. */
  noteEverything(): void;
  /** One turn. @returns the pause before the next, in milliseconds, unless there is news. */
  turn(): Promise<number>;
}

/** Deliveries due within this are put on the timetable as delayed jobs; what is due later waits in Postgres. */
const LOOK_AHEAD_SECONDS = 60;
/** Waiting jobs a queue may hold: enough to keep the workers busy between two turns, little to lose. */
const WAITING_MAX = 128;
/**
 * A lane that holds more than this is not filled up but for webhooks with news: a claim reads the rooms of all webhooks with
 * a backlog, whether it may take a hundred rows or one.
 */
const REFILL_AT = WAITING_MAX / 2;
/** Delayed jobs the queues may hold (about 0.8 KB each); beyond it only what is due now goes in. */
const DELAYED_MAX = 20_000;
const WEBHOOKS_PER_CLAIM = 500;
const WEBHOOKS_PER_WALK = 1_000;
/** An attempt that takes longer than this is "stuck": its endpoint goes to the slow lane. */
const STUCK_AFTER_SECONDS = 1;

/**
 * While there is work, the next round comes this soon; the database rests at least as long as it worked. A turn that comes
 * before is for those with news only.
 */
const BUSY_PAUSE_MS = 10;
/** How often every webhook with outstanding work is looked at: the pass that finds whatever was lost. */
const WALK_EVERY_MS = 250;
/**
 * Every so many rounds of the walk also those webhooks are claimed for whose first delivery is in somebody's hands, and
 * whose room was not full. What is behind it has mostly been heard of; where thousands of endpoints wait for a retry,
 * looking at them all each time would be most of what the relay does.
 */
const HELD_TOO_EVERY_ROUNDS = 8;
/** A webhook that had work is asked again for this many turns before it is left to the walk. */
const TURNS_WITHOUT_WORK_MAX = 10;

/**
 * The delivery pass: leases what is due soon and puts it on the timetable as delayed jobs. A retry, a replay, a
 * fresh event and a job that was lost are all the same here: a row that is due and in nobody's hands.
 */
export function createDeliveryPass(parts: DeliveryPassParts): DeliveryPass {
  return new Pass(parts);
}

class Pass implements DeliveryPass {
  readonly #parts: DeliveryPassParts;
  readonly #nowMs: () => number;
  readonly #depths: LaneDepths;
  readonly #admissions = createAdmissions();
  /** Webhooks to claim for, each with the turns it has been without work. */
  #active = new Map<WebhookId, number>();
  /** Webhooks with news: they go before the others, also in a turn that is under way. */
  readonly #news = new Set<WebhookId>();
  #walkCursor = '';
  /** Rounds of the walk so far. */
  #rounds = 0;
  /** Asked to begin the walk anew so often. */
  #restarts = 0;
  /** Whose first attempt is stuck: found in this round of the walk, and in the one before. */
  #stuck = { now: new Set<WebhookId>(), before: new Set<WebhookId>() };
  /** Where webhooks begin, found in this round of the walk, and in the one before. */
  #fronts = { now: new Map<WebhookId, Front>(), before: new Map<WebhookId, Front>() };
  #walkDueAt = 0;
  /** When all that is active is claimed for again. */
  #roundDueAt = 0;

  constructor(parts: DeliveryPassParts) {
    this.#parts = parts;
    this.#nowMs = parts.nowMs ?? (() => performance.now());
    this.#depths = createLaneDepths({
      queue: parts.queue,
      nowMs: this.#nowMs,
      waitingFew: WAITING_MAX / 2,
      delayedFew: DELAYED_MAX / 2,
    });
  }

  note(webhooks: readonly WebhookId[]): void {
    for (const id of webhooks) this.#news.add(id);
  }

  noteEverything(): void {
    this.#restarts += 1;
    this.#walkDueAt = 0;
    this.#roundDueAt = 0;
    this.#walkCursor = '';
    this.#rounds = 0;
  }

  async turn(): Promise<number> {
    const begun = this.#nowMs();
    const isRound = begun >= this.#roundDueAt;
    await (isRound ? this.#round(begun) : this.#claimFor(new Map()));
    const now = this.#nowMs();
    const hasWork = this.#active.size > 0 || this.#walkCursor !== '';
    const nextRoundAt = hasWork ? now + Math.max(BUSY_PAUSE_MS, now - begun) : this.#walkDueAt;
    this.#roundDueAt = isRound ? nextRoundAt : Math.min(this.#roundDueAt, nextRoundAt);
    return this.#news.size > 0 ? 1 : Math.max(1, this.#roundDueAt - now);
  }

  /** For all that is active, and what the walk finds. */
  async #round(begun: number): Promise<void> {
    const active = new Map(this.#active);
    if (begun >= this.#walkDueAt) await this.#walk(active);
    this.#active = new Map();
    await this.#claimFor(active);
  }

  /** One step over the webhooks with outstanding work; the next turn goes on where it ended. */
  async #walk(active: Map<WebhookId, number>): Promise<void> {
    const restarts = this.#restarts;
    const found = await this.#parts.store.walk(this.#walkCursor, WEBHOOKS_PER_WALK, {
      lookAheadSeconds: LOOK_AHEAD_SECONDS,
      stuckAfterSeconds: STUCK_AFTER_SECONDS,
    });
    const heldToo = this.#rounds % HELD_TOO_EVERY_ROUNDS === 0;
    for (const { webhookId, soon, held, stuck, front } of found) {
      if (front !== null) this.#fronts.now.set(webhookId, front);
      if (stuck) this.#noteStuck(webhookId);
      const worthALook = soon && (heldToo || !held || this.#admissions.isFull(webhookId));
      if (worthALook && !active.has(webhookId)) active.set(webhookId, TURNS_WITHOUT_WORK_MAX);
    }
    if (this.#restarts > restarts) return; // it begins anew
    const wentRound = found.length < WEBHOOKS_PER_WALK;
    this.#walkCursor = wentRound ? '' : (found.at(-1)?.webhookId ?? '');
    if (wentRound) this.#endRound();
  }

  #endRound(): void {
    this.#rounds += 1;
    this.#stuck = { now: new Set(), before: this.#stuck.now };
    this.#fronts = { now: new Map(), before: this.#fronts.now };
    this.#walkDueAt = this.#nowMs() + WALK_EVERY_MS;
  }

  /** It hangs if it was stuck the last time, too: once, and the database may have been slow to take note of an end. */
  #noteStuck(webhookId: WebhookId): void {
    this.#stuck.now.add(webhookId);
    if (this.#stuck.before.has(webhookId)) this.#admissions.suspect(webhookId);
  }

  /** @param active those with news join them */
  async #claimFor(active: Map<WebhookId, number>): Promise<void> {
    try {
      await this.#claimAll(active);
    } catch (error) {
      for (const id of active.keys()) this.#keepActive(id, 0);
      this.#roundDueAt = 0;
      throw error;
    }
  }

  async #claimAll(active: Map<WebhookId, number>): Promise<void> {
    const rest = this.#admissions.inOrder(await this.#withoutWaiting([...active.keys()]));
    do {
      const some = this.#nextFew(active, rest);
      if (some.length === 0) return;
      const { claimed, full } = await this.#claim(some.map((id) => this.#admissionOf(id)));
      this.#parts.onClaim(claimed);
      const served = new Set(claimed.map((delivery) => delivery.webhookId));
      // With a full lane, getting nothing does not mean having nothing to do.
      const idle = full ? 0 : 1;
      for (const id of some) this.#keepActive(id, served.has(id) ? 0 : (active.get(id) ?? 0) + idle);
    } while (rest.length > 0);
  }

  /**
   * Of a webhook with a backlog, which fills its room, only what comes after the first delivery that the walk has found:
   * what was recorded earlier and committed later waits for the next walk, as it would wait behind the backlog.
   */
  #admissionOf(id: WebhookId): Admission {
    const { now, before } = this.#fronts;
    const front = this.#admissions.isFull(id) ? (now.get(id) ?? before.get(id)) : undefined;
    return { ...this.#admissions.of(id), front: front ?? null };
  }

  /** Leaves out those whose lane has enough for now; they stay active. */
  async #withoutWaiting(ids: readonly WebhookId[]): Promise<readonly WebhookId[]> {
    if (ids.length === 0) return ids;
    const depths = await this.#depths.now();
    return ids.filter((id) => {
      const lane = this.#admissions.laneOf(id);
      if (lane === null || depths[lane].waiting <= REFILL_AT) return true;
      this.#keepActive(id, 0);
      return false;
    });
  }

  /** Those with news, half a claim of them at the most while there are others, and as many of the rest as go with them. */
  #nextFew(active: Map<WebhookId, number>, rest: WebhookId[]): WebhookId[] {
    const newsMax = rest.length > 0 ? WEBHOOKS_PER_CLAIM / 2 : WEBHOOKS_PER_CLAIM;
    const few = new Set([...this.#news].slice(0, newsMax));
    for (const id of few) {
      this.#news.delete(id);
      active.set(id, 0);
    }
    for (const id of rest.splice(0, WEBHOOKS_PER_CLAIM - few.size)) few.add(id);
    return this.#admissions.inOrder(few);
  }

  #keepActive(id: WebhookId, turnsWithoutWork: number): void {
    const turns = Math.min(turnsWithoutWork, this.#active.get(id) ?? turnsWithoutWork);
    if (turns <= TURNS_WITHOUT_WORK_MAX) this.#active.set(id, turns);
  }

  /**
   * Leases, commits, then adds: no row is locked while the queue is talked to. `full`: a lane took all it may hold.
   */
  async #claim(admissions: readonly Admission[]): Promise<{ claimed: ClaimedDelivery[]; full: boolean }> {
    const { store, leaseSeconds } = this.#parts;
    const { fast, slow } = await this.#depths.now();
    const fastRowsMax = Math.max(0, WAITING_MAX - fast.waiting);
    const slowRowsMax = Math.max(0, WAITING_MAX - slow.waiting);
    if (fastRowsMax === 0 && slowRowsMax === 0) return { claimed: [], full: true };
    const claimed = await store.claim(admissions, {
      lookAheadSeconds: fast.delayed + slow.delayed > DELAYED_MAX ? 0 : LOOK_AHEAD_SECONDS,
      fastRowsMax,
      slowRowsMax,
      failingRoom: ROOM.failing,
      leaseSeconds,
      stuckAfterSeconds: STUCK_AFTER_SECONDS,
    });
    await this.#enqueue(claimed);
    const slowRows = claimed.filter((delivery) => delivery.slow).length;
    return { claimed, full: claimed.length - slowRows === fastRowsMax || slowRows === slowRowsMax };
  }

  async #enqueue(claimed: readonly ClaimedDelivery[]): Promise<void> {
    this.#admissions.observe(claimed);
    try {
      for (const lane of ['fast', 'slow'] as const) {
        const jobs = claimed
          .filter((delivery) => delivery.slow === (lane === 'slow'))
          .map(({ deliveryId, claim, delayMs }) => ({ deliveryId, claim, delayMs }));
        await this.#parts.queue.addDeliveries(lane, jobs);
        this.#depths.added(lane, jobs);
      }
    } catch (error) {
      // Without this they would wait for their leases to run out. What did get in is added again, to no effect.
      this.#depths.forget();
      this.#admissions.takeBack(claimed);
      await this.#parts.store.release(claimed);
      throw error;
    }
  }
}
