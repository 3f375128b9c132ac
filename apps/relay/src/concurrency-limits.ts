import type { WebhookId } from '@postrider/domain';
import type { Lane } from '@postrider/queue';
import type { ClaimedDelivery, ClaimRequest } from '@postrider/store';
import { LRUCache } from 'lru-cache';
import { LIMITS, stateAfterClaim, stateAfterStuck, NEW_WEBHOOK } from './webhook-state.ts';
import type { Health, WebhookState } from './webhook-state.ts';

/** An account may have this share of the fleet's slots in flight. */
const ACCOUNT_SHARE = 1 / 4;
/** All webhooks of an account that fail or have not answered yet share this part of the fleet's slots. */
const NOT_ANSWERING_SHARE = 1 / 16;
/** A webhook counts as served beside others for this time after the relay served another one. */
const OTHERS_SERVED_WITHIN_MS = 2_000;

/** How many of a webhook's deliveries in flight may be in the fast lane. */
const FAST_LIMIT: Readonly<Record<Health, (limit: number) => number>> = {
  healthy: (limit) => limit,
  unknown: () => 1, // many new endpoints may hang: each then costs the lane one slot until the time limit
  unresponsive: () => 0,
};
/**
 * Webhooks remembered. The relay forgets the one that it claimed for longest ago; that webhook starts again
 * at the first limit.
 */
const WEBHOOKS_MAX = 50_000;

export interface ConcurrencyLimitsOptions {
  /** Attempts that all workers together can have in flight. */
  readonly fleetSlots: () => number;
  /** Monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

/** How an account's limit is divided among its webhooks. */
interface AccountShare {
  readonly inFlight: number;
  /** The limit divided by the webhooks that are busy or asked for. Each may use this much at once. */
  readonly fair: number;
  /** The unused part of the limit per webhook asked for. Negative: each must give this much back. */
  readonly spare: number;
}

/**
 * The state of the webhooks that this relay serves, and what each may have in flight. It is in memory only:
 * after a restart every webhook starts at the first limit.
 */
export class ConcurrencyLimits {
  readonly #fleetSlots: () => number;
  readonly #nowMs: () => number;
  readonly #states = new LRUCache<WebhookId, WebhookState>({
    max: WEBHOOKS_MAX,
    noDisposeOnSet: true,
    dispose: (state, webhookId) => this.#removeFromOwner(webhookId, ownerOf(webhookId, state)),
  });
  /** The webhooks of each account that may have deliveries in flight. */
  readonly #webhooksOf = new Map<string, Set<WebhookId>>();
  #claims = 0;
  #lastServed: WebhookId | null = null;
  #othersServedUntilMs = -Infinity;

  constructor({ fleetSlots, nowMs }: ConcurrencyLimitsOptions) {
    this.#fleetSlots = fleetSlots;
    this.#nowMs = nowMs;
  }

  /** How many deliveries each webhook may have in flight, when one claim asks for all of these. */
  claimRequests(webhookIds: readonly WebhookId[]): Omit<ClaimRequest, 'scanFrom'>[] {
    const isNotAnswering = (id: WebhookId): boolean => !this.#stateOf(id).answers;
    const all = this.#sharesOf(webhookIds, this.#limitOf(ACCOUNT_SHARE), () => true);
    const notAnswering = this.#sharesOf(webhookIds, this.#limitOf(NOT_ANSWERING_SHARE), isNotAnswering);
    return webhookIds.map((webhookId) => {
      const state = this.#stateOf(webhookId);
      const owner = ownerOf(webhookId, state);
      const shares = [all.get(owner), state.answers ? undefined : notAnswering.get(owner)].filter(
        (share) => share !== undefined,
      );
      const own = this.#inFlight(state);
      const limit = Math.min(state.limit, ...shares.map(({ fair, spare }) => Math.max(fair, own + spare)));
      const inFlight = all.get(owner)?.inFlight ?? 0;
      if (this.#states.has(webhookId)) this.#states.set(webhookId, { ...state, claimLimit: limit });
      return {
        webhookId,
        limit,
        fastLimit: FAST_LIMIT[state.health](limit),
        accountInFlight: inFlight,
      };
    });
  }

  /** @param counts whether a webhook shares this limit */
  #sharesOf(
    webhookIds: readonly WebhookId[],
    limit: number,
    counts: (webhookId: WebhookId) => boolean,
  ): Map<string, AccountShare> {
    const shares = new Map<string, AccountShare>();
    for (const [owner, asked] of this.#byOwner(webhookIds.filter(counts))) {
      const busy = this.#busyOf(owner).filter(counts);
      const inFlight = busy.reduce((sum, id) => sum + this.#inFlight(this.#stateOf(id)), 0);
      const count = new Set([...busy, ...asked]).size;
      shares.set(owner, {
        inFlight,
        fair: Math.max(1, Math.floor(limit / count)),
        spare: Math.floor((limit - inFlight) / asked.length),
      });
    }
    return shares;
  }

  #limitOf(share: number): number {
    return Math.max(LIMITS.first, Math.floor(this.#fleetSlots() * share));
  }

  /**
   * The account's webhooks with deliveries in flight. The relay forgets the others here, so the sums stay
   * short.
   */
  #busyOf(owner: string): WebhookId[] {
    for (const id of this.#webhooksOf.get(owner) ?? [])
      if (this.#inFlight(this.#stateOf(id)) === 0) this.#removeFromOwner(id, owner);
    return [...(this.#webhooksOf.get(owner) ?? [])];
  }

  #removeFromOwner(webhookId: WebhookId, owner: string): void {
    const webhooks = this.#webhooksOf.get(owner);
    webhooks?.delete(webhookId);
    if (webhooks?.size === 0) this.#webhooksOf.delete(owner);
  }

  #inFlight({ inFlight, idle }: WebhookState): number {
    return idle ? 0 : inFlight;
  }

  /**
   * Two scans found the first attempt stuck. The endpoint becomes unresponsive, unless its attempts end soon
   * on average.
   */
  noteStuck(webhookId: WebhookId): void {
    this.#states.set(webhookId, stateAfterStuck(this.#stateOf(webhookId), this.#nowMs()));
  }

  /**
   * A scan that began at this time found nothing in flight. Without such a scan the count of the last claim
   * stands, however long.
   */
  noteIdle(webhookId: WebhookId, scannedAtMs: number): void {
    const state = this.#stateOf(webhookId);
    // The scan may have missed what a later claim leased.
    if (!state.idle && state.servedAtMs < scannedAtMs) this.#states.set(webhookId, { ...state, idle: true });
  }

  /**
   * The last claim reached the webhook's limit, rows not yet due included, or the account's limit leaves it
   * no more.
   */
  isAtLimit(webhookId: WebhookId): boolean {
    const state = this.#stateOf(webhookId);
    return state.reachedLimit || this.#inFlight(state) >= state.claimLimit;
  }

  /**
   * The lane of the webhook's deliveries: fast when it is healthy, slow when it fails or is unresponsive.
   * Null: either.
   */
  knownLane(webhookId: WebhookId): Lane | null {
    const { health, limit } = this.#stateOf(webhookId);
    if (health === 'healthy') return 'fast';
    return health === 'unresponsive' || limit === LIMITS.failing ? 'slow' : null;
  }

  /**
   * The order to claim in: round-robin over the accounts, webhooks never served first, then the one served
   * longest ago. Otherwise the first few busy webhooks would take all slots.
   */
  claimOrder(webhookIds: Iterable<WebhookId>): WebhookId[] {
    const lastClaim = (id: WebhookId) => this.#stateOf(id).lastClaim;
    const inOrder = [...webhookIds].sort((a, b) => lastClaim(a) - lastClaim(b));
    return roundRobin([...this.#byOwner(inOrder).values()]);
  }

  #byOwner(webhookIds: readonly WebhookId[]): Map<string, WebhookId[]> {
    return Map.groupBy(webhookIds, (id) => ownerOf(id, this.#stateOf(id)));
  }

  /** Updates the state of the webhooks after a claim. */
  observe(claimed: readonly ClaimedDelivery[]): void {
    this.#claims += 1;
    for (const [webhookId, deliveries] of Map.groupBy(claimed, (delivery) => delivery.webhookId))
      this.#observeWebhook(webhookId, deliveries);
  }

  #observeWebhook(webhookId: WebhookId, claimed: readonly ClaimedDelivery[]): void {
    const servedAtMs = this.#nowMs();
    if (this.#lastServed !== null && this.#lastServed !== webhookId)
      this.#othersServedUntilMs = servedAtMs + OTHERS_SERVED_WITHIN_MS;
    this.#lastServed = webhookId;
    const othersServed = servedAtMs < this.#othersServedUntilMs;
    const accountLimit = this.#limitOf(ACCOUNT_SHARE);
    const after = stateAfterClaim(this.#stateOf(webhookId), claimed, {
      servedAtMs,
      othersServed,
      accountLimit,
    });
    this.#states.set(webhookId, { ...after, lastClaim: this.#claims });
    const owner = ownerOf(webhookId, after);
    this.#webhooksOf.set(owner, (this.#webhooksOf.get(owner) ?? new Set()).add(webhookId));
  }

  /**
   * These deliveries were observed and then released, because the queue failed. They must not count as ended.
   */
  noteReleased(claimed: readonly ClaimedDelivery[]): void {
    for (const { webhookId, delayMs } of claimed) {
      const state = this.#states.peek(webhookId);
      if (delayMs > 0 || state === undefined) continue;
      this.#states.set(webhookId, { ...state, inFlight: state.inFlight - 1 });
    }
  }

  #stateOf(webhookId: WebhookId): WebhookState {
    return this.#states.peek(webhookId) ?? NEW_WEBHOOK;
  }
}

/** While the account is unknown, the webhook counts as an account of its own. */
function ownerOf(webhookId: WebhookId, { accountId }: Pick<WebhookState, 'accountId'>): string {
  return accountId ?? webhookId;
}

/** The first item of each list, then the second of each, and so on. */
function roundRobin<T>(lists: readonly (readonly T[])[]): T[] {
  const result: T[] = [];
  const most = Math.max(0, ...lists.map((list) => list.length));
  for (let index = 0; index < most; index += 1) {
    for (const list of lists) if (index < list.length) result.push(list[index] as T);
  }
  return result;
}
