import type { AccountId, WebhookId } from '@postrider/domain';
import { LANES } from '@postrider/queue';
import type { Lane } from '@postrider/queue';
import type { ClaimRequest, SweptWebhook, WebhookReport } from '@postrider/store';
import TinyQueue from 'tinyqueue';
import { accountShare, quickLimit, webhookLimits } from './fair-shares.ts';
import { CHECK_MS_MAX, LOOK_AHEAD_MS, WebhookState } from './webhook-state.ts';
import type { AccountState, WebhookLimit } from './webhook-state.ts';

/** The relay forgets a webhook without work for this time. New work then begins at `FIRST_LIMIT`. */
const FORGET_AFTER_MS = 60_000;

/** What a claim asks for a webhook. */
export interface WebhookRequest extends ClaimRequest, WebhookLimit {
  readonly webhook: WebhookState;
}

/** A time at which a webhook may be due. Its check may have been moved since. */
interface ScheduledCheck {
  readonly atMs: number;
  readonly webhook: WebhookState;
}

/** The webhooks that the relay knows, and the order in which it claims for them. */
export class WebhookRegistry {
  readonly #fleetSlots: () => number;
  readonly #webhooks = new Map<WebhookId, WebhookState>();
  readonly #accounts = new Map<AccountId, AccountState>();
  /** Accounts that need their share: see `Capacity`. */
  readonly #needingShare = new Set<AccountState>();
  /** The webhooks that are due for a check. The accounts take turns, and so do the webhooks of each. */
  readonly #due: Readonly<Record<Lane, Map<AccountState, Set<WebhookState>>>> = {
    fast: new Map(),
    slow: new Map(),
  };
  readonly #scheduled = new TinyQueue<ScheduledCheck>([], (a, b) => a.atMs - b.atMs);

  /** @param fleetSlots slots that all workers together announce */
  constructor(fleetSlots: () => number) {
    this.#fleetSlots = fleetSlots;
  }

  /** A wake-up names this webhook. A webhook at its limit has a check soon: the wake-up changes nothing. */
  addWoken(webhookId: WebhookId, nowMs: number): void {
    const webhook = this.#stateOrNew(webhookId, nowMs);
    if (!webhook.isAtLimit) this.#setCheck(webhook, nowMs, nowMs);
  }

  /** The sweep found this webhook. Its low-water mark may lie before the known one. */
  addFound({ webhookId, dueInMs, lowWaterMark }: SweptWebhook, nowMs: number): void {
    const webhook = this.#stateOrNew(webhookId, nowMs);
    webhook.lowWaterMark = lowWaterMark;
    // The sweep also finds leased deliveries. Their webhook already has a check within `CHECK_MS_MAX`, or
    // when the delivery is due.
    const hasCheck = webhook.checkAtMs <= nowMs + Math.max(CHECK_MS_MAX, dueInMs);
    if (!hasCheck) this.#setCheck(webhook, nowMs + Math.max(0, dueInMs - LOOK_AHEAD_MS), nowMs);
  }

  /** Makes due what was scheduled until now. @returns the lanes with webhooks that are due for a check */
  makeDue(nowMs: number): Lane[] {
    while (this.#nextScheduledMs() <= nowMs) {
      const webhook = this.#scheduled.pop()?.webhook;
      webhook?.scheduledAtMs.pop();
      // Meanwhile its check may have been moved, or the webhook was forgotten.
      if (webhook !== undefined && this.#webhooks.get(webhook.webhookId) === webhook)
        this.#schedule(webhook, nowMs);
    }
    return LANES.filter((lane) => this.#due[lane].size > 0);
  }

  /** Removes the next webhooks of these lanes that are due for a check. @returns what to claim for each */
  nextRequests(lanes: readonly Lane[], webhooksPerLane: number): WebhookRequest[] {
    const webhooks = lanes.flatMap((lane) => this.#removeDue(lane, webhooksPerLane));
    const limits = webhookLimits(webhooks, {
      slots: this.#fleetSlots(),
      oneAccount: this.#accounts.size < 2,
      needingShare: this.#needingShare,
    });
    return limits.map((limit, index) => {
      const webhook = webhooks[index] as WebhookState;
      const { webhookId, account, inFlight, lane, lowWaterMark } = webhook;
      // After the limit has shrunk, more is in flight than it allows. The report must see it all.
      const rowsToRead = Math.max(limit.limit, inFlight);
      const slow = lane === 'slow';
      return {
        ...limit,
        webhook,
        webhookId,
        rowsToRead,
        slow,
        lowWaterMark,
        accountInFlight: account.inFlight,
      };
    });
  }

  /** The claim failed: the checks of these webhooks are still due. */
  putBack(requests: readonly WebhookRequest[]): void {
    for (const { webhook } of requests) this.#addDue(webhook);
  }

  /** Takes in the result of a claim that began at `nowMs`. A webhook that it does not report was removed. */
  observe(requests: readonly WebhookRequest[], reports: readonly WebhookReport[], nowMs: number): void {
    const reportOf = new Map(reports.map((report) => [report.webhookId, report]));
    for (const { webhook, limit, isCutByAccount } of requests) {
      const report = reportOf.get(webhook.webhookId);
      if (report === undefined) {
        this.#forget(webhook);
        continue;
      }
      this.#join(webhook, report.accountId);
      webhook.observe(report, { limit, isCutByAccount, quickLimit: quickLimit(this.#fleetSlots()), nowMs });
      this.#noteNeedOf(webhook.account);
      this.#schedule(webhook, nowMs);
    }
  }

  /** Time until the next check is due, at most a minute: a timer cannot wait for ever. */
  nextCheckMs(nowMs: number): number {
    if (this.#due.fast.size > 0 || this.#due.slow.size > 0) return 0;
    return Math.min(FORGET_AFTER_MS, Math.max(0, this.#nextScheduledMs() - nowMs));
  }

  #nextScheduledMs(): number {
    return this.#scheduled.peek()?.atMs ?? Infinity;
  }

  #stateOrNew(webhookId: WebhookId, nowMs: number): WebhookState {
    const known = this.#webhooks.get(webhookId);
    if (known !== undefined) return known;
    const webhook = new WebhookState(webhookId, nowMs);
    this.#webhooks.set(webhookId, webhook);
    return webhook;
  }

  /** Removes and returns the next webhooks of a lane that are due for a check. */
  #removeDue(lane: Lane, webhooksMax: number): WebhookState[] {
    const removed: WebhookState[] = [];
    const accounts = this.#due[lane];
    for (const [account, webhooks] of accounts) {
      if (removed.length === webhooksMax) break;
      accounts.delete(account);
      const [webhook] = webhooks;
      if (webhook === undefined) continue;
      removed.push(webhook);
      webhooks.delete(webhook);
      // The account goes behind the others, and this loop reaches it again.
      if (webhooks.size > 0) accounts.set(account, webhooks);
    }
    return removed;
  }

  #setCheck(webhook: WebhookState, atMs: number, nowMs: number): void {
    webhook.checkAtMs = Math.min(webhook.checkAtMs, atMs);
    this.#schedule(webhook, nowMs);
  }

  /** Makes the webhook due, or schedules its check. Forgets it when it had nothing to do for a minute. */
  #schedule(webhook: WebhookState, nowMs: number): void {
    const { checkAtMs, checkedAtMs, scheduledAtMs } = webhook;
    const isIdle = checkAtMs === Infinity;
    const atMs = isIdle ? checkedAtMs + FORGET_AFTER_MS : checkAtMs;
    if (atMs <= nowMs && isIdle) this.#forget(webhook);
    else if (atMs <= nowMs) this.#addDue(webhook);
    // The earliest scheduled time is the last one. If it is before `atMs`, this method runs again then.
    else if (atMs < (scheduledAtMs.at(-1) ?? Infinity)) {
      scheduledAtMs.push(atMs);
      this.#scheduled.push({ atMs, webhook });
    }
  }

  #addDue(webhook: WebhookState): void {
    const accounts = this.#due[webhook.lane];
    const webhooks = accounts.get(webhook.account) ?? new Set();
    accounts.set(webhook.account, webhooks.add(webhook));
  }

  /** A webhook's account is known from its first claim on. Until then it has one of its own. */
  #join(webhook: WebhookState, accountId: AccountId): void {
    if (webhook.accountId !== null) return;
    const account = this.#accounts.get(accountId) ?? webhook.account;
    this.#accounts.set(accountId, account);
    account.webhookCount += 1;
    webhook.account = account;
    webhook.accountId = accountId;
  }

  #forget(webhook: WebhookState): void {
    webhook.setInFlight(0, false);
    this.#noteNeedOf(webhook.account);
    webhook.account.webhookCount -= 1;
    this.#webhooks.delete(webhook.webhookId);
    if (webhook.accountId !== null && webhook.account.webhookCount === 0)
      this.#accounts.delete(webhook.accountId);
  }

  #noteNeedOf(account: AccountState): void {
    const needsShare = account.cutWebhooks > 0 || account.inFlight >= accountShare(this.#fleetSlots());
    if (needsShare) this.#needingShare.add(account);
    else this.#needingShare.delete(account);
  }
}
