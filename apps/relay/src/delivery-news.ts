import type { WebhookId } from '@postrider/domain';
import { WAITING_MAX, WEBHOOKS_PER_CLAIM } from './delivery-claims.ts';
import type { DeliveryClaims } from './delivery-claims.ts';

export interface DeliveryNewsParts {
  readonly claims: DeliveryClaims;
  /** Told of webhooks that may have more to do than was claimed: that is the rounds' business. */
  readonly onBacklog: (webhooks: readonly WebhookId[]) => void;
  /** A monotonic clock. */
  readonly nowMs?: () => number;
}

/** The way of what was heard of by a wake-up: a fresh event, a replay. It waits for no round. */
export interface DeliveryNews {
  /** These webhooks have news: they are claimed for in the next turn, whenever that comes. */
  note(webhooks: readonly WebhookId[]): void;
  /** One turn. @returns the pause before the next, in milliseconds, unless more is noted. */
  turn(): Promise<number>;
}

/** While a round's claim for them is under way, or their rooms are full. */
const RETRY_MS = 5;
/** For a webhook that got nothing because its room is full: a claim finds more when some of what is in hand has ended. */
const FULL_FOR_MS = 15;
const NO_NEWS_MS = 60_000;

/**
 * Claims for webhooks with news. Beside the rounds rather than in them: a scan of thousands of webhooks and a claim for
 * hundreds take milliseconds each, which a fresh event would else wait for.
 */
export function createDeliveryNews(parts: DeliveryNewsParts): DeliveryNews {
  const { claims, onBacklog, nowMs = () => performance.now() } = parts;
  const news = new Set<WebhookId>();
  const fullUntilMs = new Map<WebhookId, number>();

  async function claimFor(webhooks: readonly WebhookId[]): Promise<void> {
    if (webhooks.length === 0) return;
    const { served, passedOver, unfinished } = await claims.claim(webhooks, WAITING_MAX);
    for (const id of passedOver) news.add(id);
    const full = unfinished.filter((id) => !served.has(id) && claims.limits.isFull(id));
    for (const id of full) fullUntilMs.set(id, nowMs() + FULL_FOR_MS);
    if (unfinished.length > 0) onBacklog(unfinished);
  }

  /** Those whose room may not be full any more. */
  function ready(): WebhookId[] {
    for (const [id, untilMs] of fullUntilMs) if (untilMs <= nowMs()) fullUntilMs.delete(id);
    return [...news].filter((id) => !fullUntilMs.has(id));
  }

  return {
    note(webhooks) {
      for (const id of webhooks) news.add(id);
    },
    async turn() {
      const few = claims.limits.inOrder(ready().slice(0, WEBHOOKS_PER_CLAIM));
      for (const id of few) news.delete(id);
      try {
        await claimFor(few);
      } catch (error) {
        for (const id of few) news.add(id);
        throw error;
      }
      return news.size > 0 ? RETRY_MS : NO_NEWS_MS;
    },
  };
}
