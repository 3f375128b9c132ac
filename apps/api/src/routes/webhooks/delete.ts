import { parseId } from '@postrider/domain';
import type { WebhookStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import { noSuch } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';

/** `DELETE /v1/webhooks/{id}` (contract 4.3): its queued deliveries and dead letters go with it. */
export function deleteWebhook(webhooks: Pick<WebhookStore, 'delete'>): Handle {
  return async ({ key, id: written }) => {
    const id = parseId('webhook', written);
    const deleted = id !== null && (await webhooks.delete(key.accountId, id));
    return deleted ? json(200, { object: 'webhook', id, deleted: true }) : noSuch('webhook');
  };
}
