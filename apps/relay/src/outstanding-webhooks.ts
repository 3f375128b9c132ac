import type { WebhookId } from '@postrider/domain';
import type { DeliveryPosition, ScannedWebhook, ScanRequest, SweptWebhook } from '@postrider/store';

/**
 * Which webhooks may have outstanding deliveries, and where these begin.
 *
 * Deliveries that have ended stay in the index until a vacuum, and a vacuum removes none that an open snapshot may still
 * see. Scans and claims begin at a webhook's mark, so they do not read what has ended before it. Kept in memory only: a
 * relay that restarts reads each webhook once from its first entry.
 */
export interface OutstandingWebhooks {
  /** These may have outstanding deliveries: the next scan looks at them. */
  add(webhookIds: Iterable<WebhookId>): void;
  /** Takes all that the next scan has to look at. What is added from now on is for the scan after it. */
  takeAll(): WebhookId[];
  /** What a scan asks of these. */
  scanRequests(webhookIds: readonly WebhookId[]): ScanRequest[];
  /** Takes note of what a scan found: those with outstanding deliveries are looked at again. */
  scanned(requests: readonly ScanRequest[], found: readonly ScannedWebhook[]): void;
  /** Takes note of what a sweep found, which may lie before the marks. */
  swept(webhooks: readonly SweptWebhook[]): void;
  /** Where a claim begins. A full webhook has enough behind its first due delivery: what commits late can wait for a scan. */
  claimFrom(webhookId: WebhookId, isFull: boolean): DeliveryPosition | null;
}

/** Webhooks whose marks are remembered; the one that was noted for the longest time ago is forgotten first. */
const STARTS_MAX = 50_000;

interface ScanStart {
  readonly scanFrom: DeliveryPosition;
  readonly firstDue: DeliveryPosition | null;
}

export function createOutstandingWebhooks(): OutstandingWebhooks {
  return new Outstanding();
}

class Outstanding implements OutstandingWebhooks {
  #toScan = new Set<WebhookId>();
  readonly #starts = new Map<WebhookId, ScanStart>();

  add(webhookIds: Iterable<WebhookId>): void {
    for (const id of webhookIds) this.#toScan.add(id);
  }

  takeAll(): WebhookId[] {
    const all = [...this.#toScan];
    this.#toScan = new Set();
    return all;
  }

  scanRequests(webhookIds: readonly WebhookId[]): ScanRequest[] {
    return webhookIds.map((webhookId) => ({
      webhookId,
      scanFrom: this.#starts.get(webhookId)?.scanFrom ?? null,
    }));
  }

  scanned(requests: readonly ScanRequest[], found: readonly ScannedWebhook[]): void {
    const askedFrom = new Map(requests.map(({ webhookId, scanFrom }) => [webhookId, scanFrom]));
    for (const { webhookId, outstanding, scanFrom, firstDue } of found) {
      if (outstanding) this.#toScan.add(webhookId);
      // A sweep that ended meanwhile may have seen what lies before the place from which this scan began.
      const isLatest = (this.#starts.get(webhookId)?.scanFrom ?? null) === askedFrom.get(webhookId);
      if (isLatest) this.#remember(webhookId, { scanFrom, firstDue });
    }
  }

  swept(webhooks: readonly SweptWebhook[]): void {
    for (const { webhookId, scanFrom } of webhooks) {
      this.#toScan.add(webhookId);
      this.#remember(webhookId, { scanFrom, firstDue: this.#starts.get(webhookId)?.firstDue ?? null });
    }
  }

  claimFrom(webhookId: WebhookId, isFull: boolean): DeliveryPosition | null {
    const start = this.#starts.get(webhookId);
    return (isFull ? start?.firstDue : null) ?? start?.scanFrom ?? null;
  }

  #remember(webhookId: WebhookId, start: ScanStart): void {
    this.#starts.delete(webhookId); // to the end: the map's order is the order of use
    this.#starts.set(webhookId, start);
    if (this.#starts.size <= STARTS_MAX) return;
    const oldest = this.#starts.keys().next();
    if (oldest.done !== true) this.#starts.delete(oldest.value);
  }
}
