import type { WebhookId } from '@postrider/domain';
import { WAITING_MAX, WEBHOOKS_PER_CLAIM } from './delivery-claims.ts';
import type { DeliveryClaims } from './delivery-claims.ts';

export interface DeliveryNewsParts {
  readonly claims: DeliveryClaims;
  /** Told of webhooks that have more to do than was claimed: they are the rounds' business. */
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
 *
 * News of a webhook that is behind already is none: it is claimed for in its turn. So it is not those that have
 * the most events who keep the lanes full.
 */
export function createDeliveryNews({ claims, onBacklog }: DeliveryNewsParts): DeliveryNews {
  const news = new Set<WebhookId>();

  function leaveToRounds(webhooks: readonly WebhookId[]): void {
    if (webhooks.length > 0) onBacklog(webhooks);
  }

  async function claimFor(webhooks: readonly WebhookId[]): Promise<void> {
    const { passedOver, full } = await claims.claim(webhooks, { waitingMax: WAITING_MAX });
    for (const id of passedOver) news.add(id);
    const isShort = (id: WebhookId) => claims.lanesOf(id).some((lane) => full[lane]);
    leaveToRounds(webhooks.filter((id) => isShort(id) || claims.admissions.isBehind(id)));
  }

  return {
    note(webhooks) {
      for (const id of webhooks) news.add(id);
    },
    async turn() {
      const few = [...news].slice(0, WEBHOOKS_PER_CLAIM);
      for (const id of few) news.delete(id);
      leaveToRounds(few.filter((id) => claims.admissions.isBehind(id)));
      const fresh = claims.admissions.inOrder(few.filter((id) => !claims.admissions.isBehind(id)));
      try {
        await claimFor(fresh);
      } catch (error) {
        for (const id of fresh) news.add(id);
        throw error;
      }
      return news.size > 0 ? RETRY_MS : NO_NEWS_MS;
    },
  };
}
