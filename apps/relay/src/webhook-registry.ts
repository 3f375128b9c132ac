import type { AccountId, WebhookId } from '@postrider/domain';
import type { Lane } from '@postrider/queue';
import type { ClaimRequest, SweptWebhook, WebhookReport } from '@postrider/store';
import TinyQueue from 'tinyqueue';
import { accountShare, fairShares, quickLimit } from './fair-shares.ts';
import { LANES } from './queue-depths.ts';
import { IN_FLIGHT_CHECK, LOOK_AHEAD_MS, WebhookState } from './webhook-state.ts';
import type { AccountState } from './webhook-state.ts';

/** The relay forgets a webhook that had nothing to do for this time. It starts again at the first limit. */
const FORGET_AFTER_MS = 60_000;

/** What a claim asks for a webhook. */
export interface WebhookRequest extends ClaimRequest {
  readonly webhook: WebhookState;
}

/** A time at which a webhook may need a check. Another one may have been set since. */
interface ScheduledCheck {
  readonly atMs: number;
  readonly webhook: WebhookState;
}

/** The webhooks that the relay knows, and which it claims for next. */
export class WebhookRegistry {
  readonly #fleetSlots: () => number;
  readonly #webhooks = new Map<WebhookId, WebhookState>();
  readonly #accounts = new Map<AccountId, AccountState>();
  /** The accounts that had their share in flight at their last claim, or deliveries that wait for it. */
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
  wake(webhookId: WebhookId, nowMs: number): void {
    const webhook = this.#stateOrNew(webhookId, nowMs);
    if (!webhook.isAtLimit) this.#setCheck(webhook, nowMs, nowMs);
  }

  /** The sweep found this webhook. Its position may lie before the known one. */
  addFound({ webhookId, dueInMs, scanFrom }: SweptWebhook, nowMs: number): void {
    const webhook = this.#stateOrNew(webhookId, nowMs);
    webhook.scanFrom = scanFrom;
    // The sweep also finds leased deliveries. The relay checks their webhook soon, or when they are due.
    const expectedByMs = nowMs + Math.max(IN_FLIGHT_CHECK.maxMs, dueInMs);
    if (webhook.checkAtMs <= expectedByMs) return;
    this.#setCheck(webhook, nowMs + Math.max(0, dueInMs - LOOK_AHEAD_MS), nowMs);
  }

  /** The lanes with webhooks that are due for a check. */
  lanesWithWork(nowMs: number): Lane[] {
    while (this.#nextScheduledMs() <= nowMs) this.#onScheduled(this.#scheduled.pop()?.webhook, nowMs);
    return LANES.filter((lane) => this.#due[lane].size > 0);
  }

  /** Takes the next webhooks of these lanes that are due for a check. @returns what to claim for each */
  takeDue(lanes: readonly Lane[], webhooksPerLane: number): WebhookRequest[] {
    const webhooks = lanes.flatMap((lane) => this.#take(lane, webhooksPerLane));
    const oneAccount = this.#accounts.size < 2;
    const shares = fairShares(webhooks, {
      slots: this.#fleetSlots(),
      oneAccount,
      needingShare: this.#needingShare,
    });
    return webhooks.map((webhook, index) => {
      const { webhookId, account, inFlight, lane, scanFrom } = webhook;
      const share = shares[index] ?? 0;
      const rowsToRead = Math.max(share, inFlight);
      const slow = lane === 'slow';
      return { webhook, webhookId, share, rowsToRead, slow, scanFrom, accountInFlight: account.inFlight };
    });
  }

  /** The claim failed: the checks of these webhooks are still due. */
  putBack(requests: readonly WebhookRequest[]): void {
    for (const { webhook } of requests) this.#addDue(webhook);
  }

  /** Takes in the result of a claim that began at `nowMs`. A webhook that it does not report was removed. */
  observe(requests: readonly WebhookRequest[], reports: readonly WebhookReport[], nowMs: number): void {
    const reportOf = new Map(reports.map((report) => [report.webhookId, report]));
    for (const { webhook, share } of requests) {
      const report = reportOf.get(webhook.webhookId);
      if (report === undefined) {
        this.#forget(webhook);
        continue;
      }
      this.#join(webhook, report.accountId);
      webhook.observe(report, { share, quickLimit: quickLimit(this.#fleetSlots()), nowMs });
      this.#noteNeedOf(webhook.account);
      this.#schedule(webhook, nowMs);
    }
  }

  /** Time until the next check is due, at most a minute. */
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
  #take(lane: Lane, webhooksMax: number): WebhookState[] {
    const taken: WebhookState[] = [];
    const accounts = this.#due[lane];
    for (const [account, webhooks] of accounts) {
      if (taken.length === webhooksMax) break;
      accounts.delete(account);
      const [webhook] = webhooks;
      if (webhook === undefined) continue;
      taken.push(webhook);
      webhooks.delete(webhook);
      if (webhooks.size > 0) accounts.set(account, webhooks); // behind the other accounts
    }
    return taken;
  }

  #setCheck(webhook: WebhookState, atMs: number, nowMs: number): void {
    webhook.checkAtMs = Math.min(webhook.checkAtMs, atMs);
    this.#schedule(webhook, nowMs);
  }

  #schedule(webhook: WebhookState, nowMs: number): void {
    const { checkAtMs, scheduledAtMs } = webhook;
    const atMs = checkAtMs === Infinity ? forgetAtMs(webhook) : checkAtMs;
    if (checkAtMs <= nowMs) this.#addDue(webhook);
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

  /** The earliest of a webhook's scheduled times has come. Its check may have been moved meanwhile. */
  #onScheduled(webhook: WebhookState | undefined, nowMs: number): void {
    webhook?.scheduledAtMs.pop();
    if (webhook === undefined || this.#webhooks.get(webhook.webhookId) !== webhook) return; // forgotten
    if (webhook.checkAtMs === Infinity && forgetAtMs(webhook) <= nowMs) this.#forget(webhook);
    else this.#schedule(webhook, nowMs);
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
    webhook.setInFlight(0);
    webhook.setWaiting(false);
    this.#noteNeedOf(webhook.account);
    webhook.account.webhookCount -= 1;
    this.#webhooks.delete(webhook.webhookId);
    if (webhook.accountId !== null && webhook.account.webhookCount === 0)
      this.#accounts.delete(webhook.accountId);
  }

  #noteNeedOf(account: AccountState): void {
    const needsShare = account.waitingWebhooks > 0 || account.inFlight >= accountShare(this.#fleetSlots());
    if (needsShare) this.#needingShare.add(account);
    else this.#needingShare.delete(account);
  }
}

function forgetAtMs({ checkedAtMs }: WebhookState): number {
  return checkedAtMs + FORGET_AFTER_MS;
}
