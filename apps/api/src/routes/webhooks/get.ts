import { parseId } from '@postrider/domain';
import type { WebhookStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import { noSuch } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';
import { webhookEntry } from './webhook-object.ts';

/** `GET /v1/webhooks/{id}`: as the list has it, without its secret. */
export function getWebhook(webhooks: Pick<WebhookStore, 'find'>): Handle {
  return async ({ key, id: written }) => {
    const id = parseId('webhook', written);
    const webhook = id === null ? null : await webhooks.find(key.accountId, id);
    return webhook === null ? noSuch('webhook') : json(200, webhookEntry(webhook));
  };
}
