import type { WebhookId } from '@postrider/domain';
import { WAITING_MAX, WEBHOOKS_PER_CLAIM } from './delivery-claims.ts';
import type { ClaimOptions, DeliveryClaims } from './delivery-claims.ts';

export interface DeliveryNewsParts {
  readonly claims: DeliveryClaims;
  /** Where a webhook with a backlog begins. */
  readonly frontOf: ClaimOptions['frontOf'];
  /** Told of webhooks that may have more to do than was claimed: that is the rounds' business. */
  readonly onBacklog: (webhooks: readonly WebhookId[]) => void;
}

/** The way of what was heard of by a wake-up: a fresh event, a replay. It waits for no round. */
export interface DeliveryNews {
  /** These webhooks have news: they are claimed for in the next turn, whenever that comes. */
  note(webhooks: readonly WebhookId[]): void;
  /** One turn. @returns the pause before the next, in milliseconds, unless more is noted. */
  turn(): Promise<number>;
}

/** While a round's claim for them is under way. */
const RETRY_MS = 5;
const NO_NEWS_MS = 60_000;

/**
 * Claims for webhooks with news. Beside the rounds rather than in them: a walk over thousands of webhooks and a claim for
 * hundreds take milliseconds each, which a fresh event would else wait for.
 */
export function createDeliveryNews({ claims, frontOf, onBacklog }: DeliveryNewsParts): DeliveryNews {
  const news = new Set<WebhookId>();

  async function claimFor(webhooks: readonly WebhookId[]): Promise<void> {
    const { passedOver, unfinished } = await claims.claim(webhooks, { waitingMax: WAITING_MAX, frontOf });
    for (const id of passedOver) news.add(id);
    if (unfinished.length > 0) onBacklog(unfinished);
  }

  return {
    note(webhooks) {
      for (const id of webhooks) news.add(id);
    },
    async turn() {
      const few = claims.admissions.inOrder([...news].slice(0, WEBHOOKS_PER_CLAIM));
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
