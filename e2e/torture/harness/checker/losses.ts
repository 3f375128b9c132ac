import { keyOf } from './history.ts';
import type { DeliveryKey, History, StoredEvent, Violation, WebhookEntry } from './history.ts';
import { isSuccess, webhookIdOf } from './index-history.ts';
import type { HistoryIndex } from './index-history.ts';

/** I1: every committed event has ended for every matching endpoint: done, dead-lettered or dropped. */
export function findLosses(history: History, index: HistoryIndex): Violation[] {
  const outstanding = new Set(history.store.deliveries.map(keyOf));
  return history.store.events.flatMap((event) =>
    history.webhooks
      .filter((webhook) => mustGet(webhook, event))
      .map((webhook) => keyOf({ eventId: event.id, webhookId: webhook.webhookId }))
      .flatMap((key) => lossOf(key, index, outstanding)),
  );
}

function lossOf(key: DeliveryKey, index: HistoryIndex, outstanding: ReadonlySet<DeliveryKey>): Violation[] {
  const letter = index.deadLetters.get(key);
  if (letter !== undefined) {
    const refused = letter.lastError.startsWith('refused') && !isForeign(key, index);
    return refused ? [{ invariant: 'I1', key, text: `was given up wrongly: ${letter.lastError}` }] : [];
  }
  if (outstanding.has(key)) return [{ invariant: 'I1', key, text: 'is still outstanding at the end' }];
  const recorded = index.attempts.get(key)?.some((attempt) => isSuccess(attempt.status)) ?? false;
  const received = index.receipts.get(key)?.some((receipt) => isSuccess(receipt.status)) ?? false;
  if (recorded && received) return [];
  if (recorded) return [{ invariant: 'I1', key, text: 'is done by the log, but no endpoint said so' }];
  return [{ invariant: 'I1', key, text: received ? 'was received, then forgotten' : 'is lost' }];
}

/** A webhook that was there before the event, and stays. */
function mustGet(webhook: WebhookEntry, event: StoredEvent): boolean {
  return (
    webhook.removed === null &&
    webhook.accountId === event.accountId &&
    webhook.createdAtMs < event.createdAtMs &&
    (webhook.types.length === 0 || webhook.types.includes(event.type))
  );
}

function isForeign(key: DeliveryKey, index: HistoryIndex): boolean {
  return index.webhooks.get(webhookIdOf(key))?.foreign === true;
}
