import { receivedTypes } from '@postrider/domain';
import type { Webhook } from '@postrider/store';

/** What every answer says of a webhook (contract 2.1): the types are those it receives now. */
export function webhookObject({ id, endpoint, events }: Webhook) {
  return { object: 'webhook', id, endpoint, events: receivedTypes(events) };
}

/** What a list says of each webhook, and the answer about one. */
export function webhookEntry(webhook: Webhook) {
  return { ...webhookObject(webhook), created_at: webhook.createdAt.toISOString() };
}
