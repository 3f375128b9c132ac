import type { WebhookId } from '@postrider/domain';
import { WAITING_MAX, WEBHOOKS_PER_CLAIM } from './delivery-claims.ts';
import type { DeliveryClaims } from './delivery-claims.ts';

export interface WakeUpPassParts {
  readonly claims: DeliveryClaims;
  /** Receives webhooks that may have more due deliveries. The polling pass takes care of them. */
  readonly onBacklog: (webhooks: readonly WebhookId[]) => void;
  /** Monotonic clock, in milliseconds. */
  readonly nowMs?: () => number;
}

/** Claims for the webhooks that wake-ups name: they have a fresh event or a replay. */
export interface WakeUpPass {
  /** The next run claims for these webhooks. */
  add(webhooks: readonly WebhookId[]): void;
  /** Runs once. @returns the pause before the next run in milliseconds, unless a wake-up comes first. */
  run(): Promise<number>;
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
 * Runs beside the polling pass. A scan of thousands of webhooks and a claim for hundreds take milliseconds
 * each, and a fresh event would wait for them.
 */
export function createWakeUpPass(parts: WakeUpPassParts): WakeUpPass {
  const { claims, onBacklog, nowMs = () => performance.now() } = parts;
  const woken = new Set<WebhookId>();
  const atLimitUntilMs = new Map<WebhookId, number>();

  async function claimFor(webhooks: readonly WebhookId[]): Promise<void> {
    if (webhooks.length === 0) return;
    const { served, skipped, mayHaveMore } = await claims.claim(webhooks, WAITING_MAX);
    for (const id of skipped) woken.add(id);
    const atLimit = mayHaveMore.filter((id) => !served.has(id) && claims.limits.isAtLimit(id));
    for (const id of atLimit) atLimitUntilMs.set(id, nowMs() + AT_LIMIT_PAUSE_MS);
    if (mayHaveMore.length > 0) onBacklog(mayHaveMore);
  }

  /** The woken webhooks, without those that wait at their limit. */
  function ready(): WebhookId[] {
    for (const [id, untilMs] of atLimitUntilMs) if (untilMs <= nowMs()) atLimitUntilMs.delete(id);
    return [...woken].filter((id) => !atLimitUntilMs.has(id));
  }

  return {
    add(webhooks) {
      for (const id of webhooks) woken.add(id);
    },
    async run() {
      const batch = claims.limits.claimOrder(ready().slice(0, WEBHOOKS_PER_CLAIM));
      for (const id of batch) woken.delete(id);
      try {
        await claimFor(batch);
      } catch (error) {
        for (const id of batch) woken.add(id);
        throw error;
      }
      return woken.size > 0 ? RETRY_MS : IDLE_PAUSE_MS;
    },
  };
}
