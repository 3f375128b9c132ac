import type { WebhookId } from '@postrider/domain';
import type { NoWork } from '@postrider/runtime';
import { WAITING_MAX, WEBHOOKS_PER_CLAIM } from './delivery-claims.ts';
import type { DeliveryClaims } from './delivery-claims.ts';

export interface WakeUpPassParts {
  readonly claims: DeliveryClaims;
  /** Receives webhooks that may have more due deliveries. The polling pass claims for them. */
  readonly onBacklog: (webhooks: readonly WebhookId[]) => void;
  /** Monotonic clock, in milliseconds. */
  readonly nowMs?: () => number;
}

/** Pause while the polling pass claims for the same webhooks, or while they are at their limit. */
const RETRY_MS = 5;
/**
 * A webhook that got nothing at its concurrency limit waits this long. Some deliveries in flight may end
 * meanwhile.
 */
const AT_LIMIT_PAUSE_MS = 15;
const IDLE_PAUSE_MS = 60_000;

/**
 * Claims for the webhooks that wake-ups name: they have a fresh event or a replay.
 *
 * Runs beside the polling pass. A scan of thousands of webhooks and a claim for hundreds take milliseconds
 * each, and a fresh event would wait for them.
 */
export class WakeUpPass {
  readonly #claims: DeliveryClaims;
  readonly #onBacklog: WakeUpPassParts['onBacklog'];
  readonly #nowMs: () => number;
  readonly #woken = new Set<WebhookId>();
  readonly #atLimitUntilMs = new Map<WebhookId, number>();

  constructor({ claims, onBacklog, nowMs = () => performance.now() }: WakeUpPassParts) {
    this.#claims = claims;
    this.#onBacklog = onBacklog;
    this.#nowMs = nowMs;
  }

  /** The next run claims for these webhooks. */
  add(webhooks: readonly WebhookId[]): void {
    for (const id of webhooks) this.#woken.add(id);
  }

  /** Runs once. @returns the pause before the next run in milliseconds, unless a wake-up comes first. */
  async run(): Promise<number | NoWork> {
    const batch = this.#claims.limits.claimOrder(this.#ready().slice(0, WEBHOOKS_PER_CLAIM));
    if (batch.length === 0) return { noWorkForMs: this.#pauseMs() };
    for (const id of batch) this.#woken.delete(id);
    try {
      await this.#claimFor(batch);
    } catch (error) {
      this.add(batch);
      throw error;
    }
    return this.#pauseMs();
  }

  #pauseMs(): number {
    return this.#woken.size > 0 ? RETRY_MS : IDLE_PAUSE_MS;
  }

  /** The woken webhooks, without those that wait at their limit. */
  #ready(): WebhookId[] {
    const now = this.#nowMs();
    for (const [id, untilMs] of this.#atLimitUntilMs) if (untilMs <= now) this.#atLimitUntilMs.delete(id);
    return [...this.#woken].filter((id) => !this.#atLimitUntilMs.has(id));
  }

  async #claimFor(webhooks: readonly WebhookId[]): Promise<void> {
    const { served, skipped, mayHaveMore } = await this.#claims.claim(webhooks, WAITING_MAX);
    this.add(skipped);
    const atLimit = mayHaveMore.filter((id) => !served.has(id) && this.#claims.limits.isAtLimit(id));
    for (const id of atLimit) this.#atLimitUntilMs.set(id, this.#nowMs() + AT_LIMIT_PAUSE_MS);
    if (mayHaveMore.length > 0) this.#onBacklog(mayHaveMore);
  }
}
