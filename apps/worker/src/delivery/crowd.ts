import type { WebhookId } from '@postrider/domain';

/** Follows of which webhooks this worker makes attempts in one lane. */
export interface Crowd {
  /** An attempt begins. @returns to be called when it has ended. */
  enter(webhookId: WebhookId): () => void;
  /**
   * Many attempts of it are under way while others are served, too: these wait behind it. A webhook that has less than
   * half as many as another is one of those that wait, whatever has gathered.
   */
  isCrowding(webhookId: WebhookId): boolean;
}

const MANY = 16;
/** Others have been served within this time. */
const COMPANY_MS = 2_000;

/** @param nowMs a monotonic clock */
export function createCrowd(nowMs = () => performance.now()): Crowd {
  const underWay = new Map<WebhookId, number>();
  let last: WebhookId | null = null;
  let companyUntilMs = 0;

  return {
    enter(webhookId) {
      if (last !== null && last !== webhookId) companyUntilMs = nowMs() + COMPANY_MS;
      last = webhookId;
      underWay.set(webhookId, (underWay.get(webhookId) ?? 0) + 1);
      return () => {
        const left = (underWay.get(webhookId) ?? 1) - 1;
        if (left === 0) underWay.delete(webhookId);
        else underWay.set(webhookId, left);
      };
    },
    isCrowding(webhookId) {
      const own = underWay.get(webhookId) ?? 0;
      return own > MANY && nowMs() < companyUntilMs && 2 * own >= Math.max(...underWay.values());
    },
  };
}
