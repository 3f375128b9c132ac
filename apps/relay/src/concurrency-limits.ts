import type { AccountId, WebhookId } from '@postrider/domain';
import type { Lane } from '@postrider/queue';
import type { ClaimedDelivery, ClaimRequest } from '@postrider/store';
import { LIMITS, stateAfterClaim, stateAfterStuck, NEW_WEBHOOK } from './webhook-state.ts';
import type { Health, WebhookState } from './webhook-state.ts';

/** An account may have this share of the fleet's slots in flight. */
const ACCOUNT_SHARE = 1 / 4;
/** The same for those of its webhooks together that fail, or have not answered yet. */
const NOT_ANSWERING_SHARE = 1 / 16;
/** Other webhooks have been served within this time. */
const OTHERS_SERVED_WITHIN_MS = 2_000;

/** How many of the deliveries in flight may be in the fast lane. */
const FAST_LIMIT: Readonly<Record<Health, (limit: number) => number>> = {
  healthy: (limit) => limit,
  unknown: () => 1, // of many that hang and are met together each costs the lane a slot, and they time out together
  unresponsive: () => 0,
};
/** Webhooks remembered; the one that was claimed for the longest time ago is forgotten first, and begins anew. */
const WEBHOOKS_MAX = 50_000;

/**
 * What this relay knows of the webhooks that it claims for. Kept in memory only: a relay that restarts begins every
 * webhook at the first limit again.
 */
export interface ConcurrencyLimits {
  /** What each may have in flight, when these are claimed for together. */
  claimRequests(webhookIds: readonly WebhookId[]): Omit<ClaimRequest, 'scanFrom'>[];
  /** Its first attempt takes long: it hangs, unless its attempts keep ending soon. */
  noteStuck(webhookId: WebhookId): void;
  /**
   * A scan that began at this time found nothing of it in flight. Until then what its last claim saw counts,
   * however long that takes.
   */
  noteIdle(webhookId: WebhookId, scannedAtMs: number): void;
  /** Its last claim reached its limit, be it with what waits for its time; or its account leaves it no more. */
  isAtLimit(webhookId: WebhookId): boolean;
  /** Where its deliveries go, as far as is known: to the fast lane when it answers, to the slow one when it fails. */
  knownLane(webhookId: WebhookId): Lane | null;
  /**
   * In the order to claim for them: one webhook of each account in turn, those never served first, then those served
   * longest ago. Without it, the first few of many that are busy would take all that the workers can do.
   */
  claimOrder(webhookIds: Iterable<WebhookId>): WebhookId[];
  /** Takes note of what a claim returned. */
  observe(claimed: readonly ClaimedDelivery[]): void;
  /** These were observed and then given back unqueued: that they are no longer in flight says nothing of the webhook. */
  noteReleased(claimed: readonly ClaimedDelivery[]): void;
}

export interface ConcurrencyLimitsOptions {
  /** Attempts that all workers together can have in flight. */
  readonly fleetSlots: () => number;
  /** A monotonic clock. */
  readonly nowMs: () => number;
}

/** What webhooks of an account share. */
interface AccountShare {
  readonly inFlight: number;
  /** Of the account's limit, the part of each webhook that is busy or asked for: it may take this at once. */
  readonly fair: number;
  /** What is left of the limit for each webhook that is asked for. Less than none: so much is each to give back. */
  readonly spare: number;
}

export function createConcurrencyLimits(options: ConcurrencyLimitsOptions): ConcurrencyLimits {
  return new Limits(options);
}

class Limits implements ConcurrencyLimits {
  readonly #fleetSlots: () => number;
  readonly #nowMs: () => number;
  readonly #states = new Map<WebhookId, WebhookState>();
  /** Of each account, those that may have something in flight. */
  readonly #webhooksOf = new Map<string, Set<WebhookId>>();
  #claims = 0;
  #lastServed: WebhookId | null = null;
  #othersServedUntilMs = -Infinity;

  constructor({ fleetSlots, nowMs }: ConcurrencyLimitsOptions) {
    this.#fleetSlots = fleetSlots;
    this.#nowMs = nowMs;
  }

  claimRequests(webhookIds: readonly WebhookId[]): Omit<ClaimRequest, 'scanFrom'>[] {
    const isNotAnswering = (id: WebhookId): boolean => !this.#stateOf(id).answers;
    const all = this.#sharesOf(webhookIds, this.#limitOf(ACCOUNT_SHARE), () => true);
    const notAnswering = this.#sharesOf(webhookIds, this.#limitOf(NOT_ANSWERING_SHARE), isNotAnswering);
    return webhookIds.map((webhookId) => {
      const state = this.#stateOf(webhookId);
      const owner = ownerOf(webhookId, state);
      const shares = [all.get(owner), state.answers ? undefined : notAnswering.get(owner)].filter(isDefined);
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

  /** @param counts which of an account's webhooks share the limit */
  #sharesOf(
    webhookIds: readonly WebhookId[],
    limit: number,
    counts: (webhookId: WebhookId) => boolean,
  ): Map<string, AccountShare> {
    const shares = new Map<string, AccountShare>();
    for (const [owner, asked] of this.#byAccount(webhookIds.filter(counts))) {
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

  /** Its webhooks that have something in flight. The others are forgotten here, so that the sums stay short. */
  #busyOf(owner: string): WebhookId[] {
    const webhooks = this.#webhooksOf.get(owner);
    if (webhooks === undefined) return [];
    for (const id of webhooks) if (this.#inFlight(this.#stateOf(id)) === 0) webhooks.delete(id);
    if (webhooks.size === 0) this.#webhooksOf.delete(owner);
    return [...webhooks];
  }

  #inFlight({ inFlight, idle }: WebhookState): number {
    return idle ? 0 : inFlight;
  }

  noteStuck(webhookId: WebhookId): void {
    this.#states.set(webhookId, stateAfterStuck(this.#stateOf(webhookId), this.#nowMs()));
    this.#forgetOldest();
  }

  noteIdle(webhookId: WebhookId, scannedAtMs: number): void {
    const state = this.#stateOf(webhookId);
    // The scan may not have seen what was claimed after it had begun.
    if (!state.idle && state.servedAtMs < scannedAtMs) this.#states.set(webhookId, { ...state, idle: true });
  }

  isAtLimit(webhookId: WebhookId): boolean {
    const state = this.#stateOf(webhookId);
    return state.reachedLimit || this.#inFlight(state) >= state.claimLimit;
  }

  knownLane(webhookId: WebhookId): Lane | null {
    const { health, limit } = this.#stateOf(webhookId);
    if (health === 'healthy') return 'fast';
    return health === 'unresponsive' || limit === LIMITS.failing ? 'slow' : null;
  }

  claimOrder(webhookIds: Iterable<WebhookId>): WebhookId[] {
    const lastClaim = (id: WebhookId) => this.#stateOf(id).lastClaim;
    const byAccount = this.#byAccount([...webhookIds].sort((a, b) => lastClaim(a) - lastClaim(b)));
    return roundRobin([...byAccount.values()]);
  }

  #byAccount(webhookIds: readonly WebhookId[]): Map<string, WebhookId[]> {
    const byAccount = new Map<string, WebhookId[]>();
    for (const id of webhookIds) {
      const owner = ownerOf(id, this.#stateOf(id));
      const others = byAccount.get(owner);
      if (others === undefined) byAccount.set(owner, [id]);
      else others.push(id);
    }
    return byAccount;
  }

  observe(claimed: readonly ClaimedDelivery[]): void {
    this.#claims += 1;
    for (const [webhookId, deliveries] of byWebhook(claimed)) this.#observeWebhook(webhookId, deliveries);
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
    this.#states.delete(webhookId); // to the end: the map's order is the order of use
    this.#states.set(webhookId, { ...after, lastClaim: this.#claims });
    this.#noteOwner(webhookId, after.accountId);
    this.#forgetOldest();
  }

  #noteOwner(webhookId: WebhookId, accountId: AccountId | null): void {
    if (accountId === null) return;
    const others = this.#webhooksOf.get(accountId);
    if (others === undefined) this.#webhooksOf.set(accountId, new Set([webhookId]));
    else others.add(webhookId);
  }

  noteReleased(claimed: readonly ClaimedDelivery[]): void {
    for (const { webhookId, delayMs } of claimed) {
      const state = this.#states.get(webhookId);
      if (delayMs > 0 || state === undefined) continue;
      this.#states.set(webhookId, { ...state, inFlight: state.inFlight - 1 });
    }
  }

  #stateOf(webhookId: WebhookId): WebhookState {
    return this.#states.get(webhookId) ?? NEW_WEBHOOK;
  }

  #forgetOldest(): void {
    if (this.#states.size <= WEBHOOKS_MAX) return;
    const oldest = this.#states.entries().next();
    if (oldest.done === true) return;
    const [webhookId, { accountId }] = oldest.value;
    this.#states.delete(webhookId);
    const others = accountId === null ? undefined : this.#webhooksOf.get(accountId);
    others?.delete(webhookId);
    if (accountId !== null && others?.size === 0) this.#webhooksOf.delete(accountId);
  }
}

function isDefined<T>(value: T | undefined): value is T {
  return value !== undefined;
}

/** A webhook whose account is not known yet counts as an account of its own. */
function ownerOf(webhookId: WebhookId, { accountId }: WebhookState): string {
  return accountId ?? webhookId;
}

/** The first of each, then the second of each, and so on. */
function roundRobin<T>(lists: readonly (readonly T[])[]): T[] {
  const result: T[] = [];
  const most = Math.max(0, ...lists.map((list) => list.length));
  for (let index = 0; index < most; index += 1) {
    for (const list of lists) if (index < list.length) result.push(list[index] as T);
  }
  return result;
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
