import type { WebhookId } from '@postrider/domain';
import type { DeliveryPosition, ScannedWebhook, ScanRequest, SweptWebhook } from '@postrider/store';
import { LRUCache } from 'lru-cache';

/** Webhooks remembered. The relay forgets the one noted longest ago. */
const STARTS_MAX = 50_000;

interface ScanStart {
  readonly scanFrom: DeliveryPosition;
  readonly firstDue: DeliveryPosition | null;
}

/**
 * The webhooks that may have outstanding deliveries, and where each one's deliveries start.
 *
 * Ended deliveries stay in the index until a vacuum. A vacuum keeps those that an open snapshot may still
 * see. So scans and claims start at the webhook's low-water mark (`scanFrom`) and do not read ended
 * deliveries. The state is in memory only: after a restart the relay reads each webhook once from its first
 * entry.
 */
export class OutstandingWebhooks {
  #toScan = new Set<WebhookId>();
  readonly #starts = new LRUCache<WebhookId, ScanStart>({ max: STARTS_MAX });

  /** The next scan reads these webhooks. */
  add(webhookIds: Iterable<WebhookId>): void {
    for (const id of webhookIds) this.#toScan.add(id);
  }

  /** Removes and returns the webhooks to scan. Webhooks added later wait for the next scan. */
  takeAll(): WebhookId[] {
    const all = [...this.#toScan];
    this.#toScan = new Set();
    return all;
  }

  /** The scan requests for these webhooks. */
  scanRequests(webhookIds: readonly WebhookId[]): ScanRequest[] {
    return webhookIds.map((webhookId) => ({
      webhookId,
      scanFrom: this.#starts.peek(webhookId)?.scanFrom ?? null,
    }));
  }

  /** Stores the result of a scan. The next scan reads the webhooks with outstanding deliveries again. */
  scanned(requests: readonly ScanRequest[], found: readonly ScannedWebhook[]): void {
    const askedFrom = new Map(requests.map(({ webhookId, scanFrom }) => [webhookId, scanFrom]));
    for (const { webhookId, outstanding, scanFrom, firstDue } of found) {
      if (outstanding) this.#toScan.add(webhookId);
      // A sweep may have ended during the scan and found an earlier start. That start wins.
      const isLatest = (this.#starts.peek(webhookId)?.scanFrom ?? null) === askedFrom.get(webhookId);
      if (isLatest) this.#starts.set(webhookId, { scanFrom, firstDue });
    }
  }

  /** Stores the result of a sweep. It may lie before the known positions. */
  swept(webhooks: readonly SweptWebhook[]): void {
    for (const { webhookId, scanFrom } of webhooks) {
      this.#toScan.add(webhookId);
      this.#starts.set(webhookId, { scanFrom, firstDue: this.#starts.peek(webhookId)?.firstDue ?? null });
    }
  }

  /**
   * The position where a claim starts. A webhook at its limit has enough after its first due delivery: rows
   * that commit late can wait for a scan.
   */
  claimFrom(webhookId: WebhookId, isFull: boolean): DeliveryPosition | null {
    const start = this.#starts.peek(webhookId);
    return (isFull ? start?.firstDue : null) ?? start?.scanFrom ?? null;
  }
}
