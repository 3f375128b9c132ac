import { keyOf } from './history.ts';
import type { DeliveryKey, History, StoredEvent, Violation, WebhookEntry } from './history.ts';
import { isRemoved, isSuccess, webhookIdOf } from './index-history.ts';
import type { HistoryIndex } from './index-history.ts';

/**
 * I1: every committed event has ended for every matching endpoint: done, dropped with its webhook, or
 * dead-lettered where the experiment allows it. So a failure of our own that counts as an attempt is found.
 */
export function findLosses(history: History, index: HistoryIndex): Violation[] {
  const outstanding = new Set(history.store.deliveries.map(keyOf));
  const losses = history.store.events.flatMap((event) =>
    history.webhooks
      .filter((webhook) => mustGet(webhook, event))
      .map((webhook) => keyOf({ eventId: event.id, webhookId: webhook.webhookId }))
      .flatMap((key) => lossOf(key, index, outstanding)),
  );
  return [...givenUp(index), ...losses];
}

/** A webhook without an entry was registered by the experiment itself, which judges the refusal. */
function givenUp(index: HistoryIndex): Violation[] {
  return [...index.deadLetters].flatMap(([key, { lastError }]): Violation[] => {
    const webhook = index.webhooks.get(webhookIdOf(key));
    const mayEndSo = lastError.startsWith('refused')
      ? webhook?.foreign !== false
      : webhook?.mayGiveUp === true;
    if (mayEndSo || isRemoved(key, index)) return [];
    return [{ invariant: 'I1', key, text: `was given up: ${lastError}` }];
  });
}

function lossOf(key: DeliveryKey, index: HistoryIndex, outstanding: ReadonlySet<DeliveryKey>): Violation[] {
  if (index.deadLetters.has(key)) return [];
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
