import type { WebhookStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import type { Handle } from '../route.ts';
import { parseRegistration } from './registration.ts';
import { webhookObject } from './webhook-object.ts';

/** `POST /v1/webhooks` (contract 4.1). The one answer that carries the signing secret. */
export function createWebhook(webhooks: Pick<WebhookStore, 'create'>): Handle {
  return async ({ key, body }) => {
    const parsed = parseRegistration(body);
    if (!parsed.ok) return parsed.refusal;
    const { webhook, signingSecret } = await webhooks.create({
      accountId: key.accountId,
      ...parsed.fields,
    });
    return json(201, { ...webhookObject(webhook), signing_secret: signingSecret });
  };
}
