import type { WebhookStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import type { Handle } from '../route.ts';
import { webhookObject } from './webhook-object.ts';

/** `GET /v1/webhooks` (contract 4.2): all of the account's, newest first. */
export function listWebhooks(webhooks: Pick<WebhookStore, 'list'>): Handle {
  return async ({ key }) => {
    const found = await webhooks.list(key.accountId);
    const data = found.map((webhook) => ({
      ...webhookObject(webhook),
      created_at: webhook.createdAt.toISOString(),
    }));
    return json(200, { object: 'list', data });
  };
}
