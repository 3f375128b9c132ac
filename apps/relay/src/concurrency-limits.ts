import type { AccountId, WebhookId } from '@postrider/domain';
import type { Lane } from '@postrider/queue';
import type { ClaimedDelivery, ClaimRequest } from '@postrider/store';
import { LIMITS, standingAfter, standingAfterStuck, UNKNOWN } from './webhook-standing.ts';
import type { Health, Standing } from './webhook-standing.ts';

/** An account may have this share of the fleet's slots in flight. */
const ACCOUNT_SHARE = 1 / 4;
/** The same for those of its webhooks together that fail, or have not answered yet. */
const UNPROVEN_SHARE = 1 / 16;
/** Other webhooks have been served within this time. */
const SHARED_FOR_MS = 2_000;

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
  allow(webhookIds: readonly WebhookId[]): Omit<ClaimRequest, 'scanFrom'>[];
  /** Its first attempt takes long: it hangs, unless its attempts keep ending soon. */
  suspect(webhookId: WebhookId): void;
  /**
   * A scan that began at this time found nothing of it in flight. Until then what its last claim saw counts,
   * however long that takes.
   */
  noteIdle(webhookId: WebhookId, scannedAtMs: number): void;
  /** Its last claim reached its limit, be it with what waits for its time; or its account leaves it no more. */
  isFull(webhookId: WebhookId): boolean;
  /** Where its deliveries go, as far as is known: to the fast lane when it answers, to the slow one when it fails. */
  laneOf(webhookId: WebhookId): Lane | null;
  /**
   * In the order to claim for them: one webhook of each account in turn, those never served first, then those served
   * longest ago. Without it, the first few of many that are busy would take all that the workers can do.
   */
  inOrder(webhookIds: Iterable<WebhookId>): WebhookId[];
  /** Takes note of what a claim returned. */
  observe(claimed: readonly ClaimedDelivery[]): void;
  /** These were observed and then given back unqueued: that they are no longer in flight says nothing of the webhook. */
  takeBack(claimed: readonly ClaimedDelivery[]): void;
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
  readonly #standings = new Map<WebhookId, Standing>();
  /** Of each account, those that may have something in flight. */
  readonly #webhooksOf = new Map<string, Set<WebhookId>>();
  #claims = 0;
  #lastServed: WebhookId | null = null;
  #sharedUntilMs = -Infinity;

  constructor({ fleetSlots, nowMs }: ConcurrencyLimitsOptions) {
    this.#fleetSlots = fleetSlots;
    this.#nowMs = nowMs;
  }

  allow(webhookIds: readonly WebhookId[]): Omit<ClaimRequest, 'scanFrom'>[] {
    const isUnproven = (id: WebhookId): boolean => !this.#of(id).answers;
    const all = this.#sharesOf(webhookIds, this.#limitOf(ACCOUNT_SHARE), () => true);
    const unproven = this.#sharesOf(webhookIds, this.#limitOf(UNPROVEN_SHARE), isUnproven);
    return webhookIds.map((webhookId) => {
      const standing = this.#of(webhookId);
      const owner = ownerOf(webhookId, standing);
      const shares = [all.get(owner), standing.answers ? undefined : unproven.get(owner)].filter(isDefined);
      const own = this.#inFlight(standing);
      const allowed = Math.min(
        standing.limit,
        ...shares.map(({ fair, spare }) => Math.max(fair, own + spare)),
      );
      const inFlight = all.get(owner)?.inFlight ?? 0;
      if (this.#standings.has(webhookId)) this.#standings.set(webhookId, { ...standing, allowed });
      return {
        webhookId,
        limit: allowed,
        fastLimit: FAST_LIMIT[standing.health](allowed),
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
      const inFlight = busy.reduce((sum, id) => sum + this.#inFlight(this.#of(id)), 0);
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
    for (const id of webhooks) if (this.#inFlight(this.#of(id)) === 0) webhooks.delete(id);
    if (webhooks.size === 0) this.#webhooksOf.delete(owner);
    return [...webhooks];
  }

  #inFlight({ inFlight, idle }: Standing): number {
    return idle ? 0 : inFlight;
  }

  suspect(webhookId: WebhookId): void {
    this.#standings.set(webhookId, standingAfterStuck(this.#of(webhookId), this.#nowMs()));
    this.#forgetOldest();
  }

  noteIdle(webhookId: WebhookId, scannedAtMs: number): void {
    const standing = this.#of(webhookId);
    // The scan may not have seen what was claimed after it had begun.
    if (!standing.idle && standing.servedAtMs < scannedAtMs)
      this.#standings.set(webhookId, { ...standing, idle: true });
  }

  isFull(webhookId: WebhookId): boolean {
    const standing = this.#of(webhookId);
    return standing.full || this.#inFlight(standing) >= standing.allowed;
  }

  laneOf(webhookId: WebhookId): Lane | null {
    const { health, limit } = this.#of(webhookId);
    if (health === 'healthy') return 'fast';
    return health === 'unresponsive' || limit === LIMITS.failing ? 'slow' : null;
  }

  inOrder(webhookIds: Iterable<WebhookId>): WebhookId[] {
    const served = (id: WebhookId) => this.#of(id).served;
    const byAccount = this.#byAccount([...webhookIds].sort((a, b) => served(a) - served(b)));
    return dealt([...byAccount.values()]);
  }

  #byAccount(webhookIds: readonly WebhookId[]): Map<string, WebhookId[]> {
    const byAccount = new Map<string, WebhookId[]>();
    for (const id of webhookIds) {
      const owner = ownerOf(id, this.#of(id));
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
      this.#sharedUntilMs = servedAtMs + SHARED_FOR_MS;
    this.#lastServed = webhookId;
    const shared = servedAtMs < this.#sharedUntilMs;
    const most = this.#limitOf(ACCOUNT_SHARE);
    const after = standingAfter(this.#of(webhookId), claimed, { servedAtMs, shared, most });
    this.#standings.delete(webhookId); // to the end: the map's order is the order of use
    this.#standings.set(webhookId, { ...after, served: this.#claims });
    this.#noteOwner(webhookId, after.accountId);
    this.#forgetOldest();
  }

  #noteOwner(webhookId: WebhookId, accountId: AccountId | null): void {
    if (accountId === null) return;
    const others = this.#webhooksOf.get(accountId);
    if (others === undefined) this.#webhooksOf.set(accountId, new Set([webhookId]));
    else others.add(webhookId);
  }

  takeBack(claimed: readonly ClaimedDelivery[]): void {
    for (const { webhookId, delayMs } of claimed) {
      const standing = this.#standings.get(webhookId);
      if (delayMs > 0 || standing === undefined) continue;
      this.#standings.set(webhookId, { ...standing, inFlight: standing.inFlight - 1 });
    }
  }

  #of(webhookId: WebhookId): Standing {
    return this.#standings.get(webhookId) ?? UNKNOWN;
  }

  #forgetOldest(): void {
    if (this.#standings.size <= WEBHOOKS_MAX) return;
    const oldest = this.#standings.entries().next();
    if (oldest.done === true) return;
    const [webhookId, { accountId }] = oldest.value;
    this.#standings.delete(webhookId);
    const others = accountId === null ? undefined : this.#webhooksOf.get(accountId);
    others?.delete(webhookId);
    if (accountId !== null && others?.size === 0) this.#webhooksOf.delete(accountId);
  }
}

function isDefined<T>(value: T | undefined): value is T {
  return value !== undefined;
}

/** A webhook whose account is not known yet counts as an account of its own. */
function ownerOf(webhookId: WebhookId, { accountId }: Standing): string {
  return accountId ?? webhookId;
}

/** The first of each, then the second of each, and so on. */
function dealt<T>(piles: readonly (readonly T[])[]): T[] {
  const dealtOut: T[] = [];
  const most = Math.max(0, ...piles.map((pile) => pile.length));
  for (let place = 0; place < most; place += 1) {
    for (const pile of piles) if (place < pile.length) dealtOut.push(pile[place] as T);
  }
  return dealtOut;
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
