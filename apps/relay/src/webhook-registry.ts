import type { AccountId, WebhookId } from '@postrider/domain';
import type { Lane } from '@postrider/queue';
import type { ClaimRequest, SweptWebhook, WebhookClaim } from '@postrider/store';
import TinyQueue from 'tinyqueue';
import { fairShares } from './fair-shares.ts';
import { LANES } from './queue-depths.ts';
import { WebhookState } from './webhook-state.ts';
import type { AccountState } from './webhook-state.ts';

/** The relay forgets a webhook that had nothing to do for this time. It starts again at the first limit. */
const FORGET_AFTER_MS = 60_000;
/** A webhook with due deliveries is checked this often in any case. */
const DUE_CHECK_MS = 2_000;
/** An account counts as served for this time. */
const SERVED_MS = 2_000;

/** A time at which a webhook may need a check. Another one may have been set since. */
interface Appointment {
  readonly atMs: number;
  readonly webhook: WebhookState;
}

/** The webhooks that the relay knows, and which it claims for next. */
export class WebhookRegistry {
  readonly #fleetSlots: () => number;
  readonly #webhooks = new Map<WebhookId, WebhookState>();
  readonly #accounts = new Map<AccountId, AccountState>();
  /** The webhooks that are due for a check. The accounts take turns, and so do the webhooks of each. */
  readonly #due: Readonly<Record<Lane, Map<AccountState, Set<WebhookState>>>> = {
    fast: new Map(),
    slow: new Map(),
  };
  readonly #appointments = new TinyQueue<Appointment>([], (a, b) => a.atMs - b.atMs);
  #lastServed: AccountState | null = null;
  /** Two accounts were served within `SERVED_MS` until then. */
  #severalAccountsUntilMs = -Infinity;

  /** @param fleetSlots attempts that all workers together can have in flight */
  constructor(fleetSlots: () => number) {
    this.#fleetSlots = fleetSlots;
  }

  /** A wake-up names this webhook. */
  wake(webhookId: WebhookId, nowMs: number): void {
    this.#wake(this.#stateOf(webhookId, nowMs), nowMs);
  }

  /** The sweep found this webhook. Its position may lie before the known one. */
  found({ webhookId, due, scanFrom }: SweptWebhook, nowMs: number): void {
    const webhook = this.#stateOf(webhookId, nowMs);
    webhook.scanFrom = scanFrom;
    if (webhook.checkAtMs === Infinity || (due && webhook.checkAtMs > nowMs + DUE_CHECK_MS))
      this.#wake(webhook, nowMs);
  }

  /** The lanes with webhooks that are due for a check. */
  lanesWithWork(nowMs: number): Lane[] {
    for (let next = this.#appointments.peek(); next !== undefined && next.atMs <= nowMs;) {
      this.#appointments.pop();
      this.#keep(next, nowMs);
      next = this.#appointments.peek();
    }
    return LANES.filter((lane) => this.#due[lane].size > 0);
  }

  /** Removes and returns the next webhooks of a lane that are due for a check. */
  take(lane: Lane, webhooksMax: number): WebhookState[] {
    const taken: WebhookState[] = [];
    const accounts = this.#due[lane];
    while (taken.length < webhooksMax) {
      const [turn] = accounts;
      if (turn === undefined) break;
      const [account, webhooks] = turn;
      const [webhook] = webhooks;
      accounts.delete(account);
      if (webhook === undefined) continue;
      taken.push(webhook);
      webhooks.delete(webhook);
      if (webhooks.size > 0) accounts.set(account, webhooks); // behind the other accounts
    }
    return taken;
  }

  /** The claim for these webhooks failed: their check is still due. */
  putBack(webhooks: readonly WebhookState[]): void {
    for (const webhook of webhooks) {
      webhook.claimFailed();
      this.#addDue(webhook);
    }
  }

  /** Returns the requests of a claim for these webhooks. */
  claimRequests(
    webhooks: readonly WebhookState[],
    nowMs: number,
  ): (ClaimRequest & { readonly limit: number })[] {
    const oneAccount = nowMs >= this.#severalAccountsUntilMs;
    for (const webhook of webhooks) webhook.claimBegins();
    const limits = fairShares(webhooks, { slots: this.#fleetSlots(), oneAccount });
    return webhooks.map(({ webhookId, account, inFlight, isSlow, scanFrom }, index) => {
      const limit = limits[index] ?? 0;
      const rowsToRead = Math.max(limit, inFlight);
      return { webhookId, limit, rowsToRead, slow: isSlow, scanFrom, accountInFlight: account.inFlight };
    });
  }

  /** Takes in the result of a claim that began at `nowMs`. Without one, the webhook was removed. */
  observe(webhook: WebhookState, claim: WebhookClaim | undefined, limit: number, nowMs: number): void {
    if (claim === undefined) {
      this.#forget(webhook);
      return;
    }
    this.#join(webhook, claim.accountId);
    webhook.observe(claim, { limit, limitMax: this.#fleetSlots(), nowMs });
    if (claim.leased.length > 0) this.#noteServed(webhook.account, nowMs);
    this.#schedule(webhook, nowMs);
  }

  /** Time until the next check is due, at most `mostMs`. */
  nextCheckMs(nowMs: number, mostMs: number): number {
    if (this.#due.fast.size > 0 || this.#due.slow.size > 0) return 0;
    const next = this.#appointments.peek();
    return next === undefined ? mostMs : Math.min(mostMs, Math.max(0, next.atMs - nowMs));
  }

  #stateOf(webhookId: WebhookId, nowMs: number): WebhookState {
    const known = this.#webhooks.get(webhookId);
    if (known !== undefined) return known;
    const webhook = new WebhookState(webhookId, nowMs);
    this.#webhooks.set(webhookId, webhook);
    return webhook;
  }

  #wake(webhook: WebhookState, nowMs: number): void {
    if (webhook.wake(nowMs)) this.#addDue(webhook);
  }

  #addDue(webhook: WebhookState): void {
    const accounts = this.#due[webhook.lane];
    const webhooks = accounts.get(webhook.account) ?? new Set();
    accounts.set(webhook.account, webhooks.add(webhook));
  }

  #schedule(webhook: WebhookState, nowMs: number): void {
    const { checkAtMs } = webhook;
    if (checkAtMs <= nowMs) this.#addDue(webhook);
    else
      this.#appointments.push({
        atMs: checkAtMs === Infinity ? nowMs + FORGET_AFTER_MS : checkAtMs,
        webhook,
      });
  }

  #keep({ webhook }: Appointment, nowMs: number): void {
    if (this.#webhooks.get(webhook.webhookId) !== webhook) return; // forgotten
    if (webhook.checkAtMs <= nowMs) this.#addDue(webhook);
    else if (webhook.checkAtMs === Infinity && webhook.checkedAtMs <= nowMs - FORGET_AFTER_MS)
      this.#forget(webhook);
  }

  /** A webhook's account is known from its first claim on. */
  #join(webhook: WebhookState, accountId: AccountId): void {
    const account = this.#accounts.get(accountId) ?? { inFlight: 0, busy: 0, webhooks: 0 };
    if (webhook.account === account) return;
    this.#accounts.set(accountId, account);
    account.webhooks += 1;
    webhook.account = account;
    webhook.accountId = accountId;
  }

  #forget(webhook: WebhookState): void {
    webhook.setInFlight(0);
    webhook.account.webhooks -= 1;
    this.#webhooks.delete(webhook.webhookId);
    if (webhook.accountId !== null && webhook.account.webhooks === 0)
      this.#accounts.delete(webhook.accountId);
  }

  #noteServed(account: AccountState, nowMs: number): void {
    if (this.#lastServed !== null && this.#lastServed !== account)
      this.#severalAccountsUntilMs = nowMs + SERVED_MS;
    this.#lastServed = account;
  }
}
