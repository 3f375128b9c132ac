import type { AccountId, WebhookId } from '@postrider/domain';
import type { LeasedDelivery, WebhookReport } from '@postrider/store';

/** What a claim reported of a webhook and leased. Default: webhook `wh_a` of `acct_1`, idle. */
export function claimOf(more: Partial<WebhookReport> = {}): WebhookReport {
  const { leased = [], inFlight = 0 } = more;
  return {
    webhookId: 'wh_a' as WebhookId,
    accountId: 'acct_1' as AccountId,
    failing: false,
    due: inFlight + leased.length,
    inFlight,
    stuck: 0,
    expired: 0,
    nextDueInMs: null,
    lowWaterMark: { dueAt: '2026-01-01 00:00:00+00', deliveryId: '0' },
    leased,
    ...more,
  };
}

/** So many leased deliveries. */
export function leased(count: number, more: Partial<LeasedDelivery> = {}): LeasedDelivery[] {
  return Array.from({ length: count }, (_, n) => ({
    deliveryId: String(n),
    claim: 0,
    webhookId: 'wh_a' as WebhookId,
    slow: false,
    leaseExpired: false,
    dueInMs: 0,
    ...more,
  }));
}
