import { isFresh } from '@postrider/domain';
import type { WebhookId } from '@postrider/domain';
import type { LoadedDelivery } from './load.ts';

/** Fresh ones of another webhook were seen within this time. */
const COMPANY_MS = 2_000;

interface Seen {
  readonly webhookId: WebhookId;
  readonly atMs: number;
}

/**
 * Tells of each delivery that is taken whether it lets the fresh of other webhooks go first. A webhook's own are no company:
 * a burst begins fresh, and what of it is late a moment later has nobody to wait for.
 *
 * @param nowMs a monotonic clock
 */
export function createRightOfWay(
  nowMs = () => performance.now(),
): (delivery: Pick<LoadedDelivery, 'webhookId' | 'lateMs' | 'attemptsMade'>) => boolean {
  /** The last fresh one, and the last one of any other webhook. */
  let last: Seen | null = null;
  let lastOfAnother: Seen | null = null;

  function see(webhookId: WebhookId): void {
    if (last !== null && last.webhookId !== webhookId) lastOfAnother = last;
    last = { webhookId, atMs: nowMs() };
  }

  return (delivery) => {
    const { webhookId } = delivery;
    if (isFresh(delivery)) {
      see(webhookId);
      return false;
    }
    const company = last?.webhookId === webhookId ? lastOfAnother : last;
    return company !== null && nowMs() < company.atMs + COMPANY_MS;
  };
}
