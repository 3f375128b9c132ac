import type { WebhookStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import type { Handle } from '../route.ts';
import { webhookEntry } from './webhook-object.ts';

/** `GET /v1/webhooks` (contract 4.2): all of the account's, newest first. */
export function listWebhooks(webhooks: Pick<WebhookStore, 'list'>): Handle {
  return async ({ key }) => {
    const found = await webhooks.list(key.accountId);
    return json(200, { object: 'list', data: found.map(webhookEntry) });
  };
}
