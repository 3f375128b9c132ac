import type { WebhookId } from '@postrider/domain';
import { WAITING_MAX, WEBHOOKS_PER_CLAIM } from './delivery-claims.ts';
import type { DeliveryClaims } from './delivery-claims.ts';

export interface WakeUpPassParts {
  readonly claims: DeliveryClaims;
  /** Told of webhooks that may have more to do than was claimed: that is the rounds' business. */
  readonly onBacklog: (webhooks: readonly WebhookId[]) => void;
  /** A monotonic clock. */
  readonly nowMs?: () => number;
}

/** The way of what was heard of by a wake-up: a fresh event, a replay. It waits for no round. */
export interface WakeUpPass {
  /** These webhooks have news: they are claimed for in the next turn, whenever that comes. */
  add(webhooks: readonly WebhookId[]): void;
  /** One turn. @returns the pause before the next, in milliseconds, unless more is noted. */
  run(): Promise<number>;
}

/** While a round's claim for them is under way, or their rooms are full. */
const RETRY_MS = 5;
/** For a webhook that got nothing because its room is full: a claim finds more when some of what is in hand has ended. */
const AT_LIMIT_PAUSE_MS = 15;
const IDLE_PAUSE_MS = 60_000;

/**
 * Claims for webhooks with news. Beside the rounds rather than in them: a scan of thousands of webhooks and a claim for
 * hundreds take milliseconds each, which a fresh event would else wait for.
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

  /** Those whose room may not be full any more. */
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
