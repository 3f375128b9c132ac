import type { AccountId, WebhookId } from '@postrider/domain';
import type { ClaimedDelivery } from '@postrider/store';

/** The result of a claim: `count` deliveries. Default: of webhook `wh_a` and account `acct_1`. */
export function claimed(count: number, more: Partial<ClaimedDelivery> = {}): ClaimedDelivery[] {
  return Array.from({ length: count }, (_, n) => ({
    deliveryId: String(n),
    claim: 0,
    webhookId: 'wh_a' as WebhookId,
    accountId: 'acct_1' as AccountId,
    inFlight: 0,
    rowsRead: (more.inFlight ?? 0) + count,
    stuck: false,
    failing: false,
    slow: false,
    leaseExpired: false,
    overLimit: false,
    attemptsMade: 0,
    delayMs: 0,
    lateMs: 0,
    ...more,
  }));
}
