import type { WebhookStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import { tooManyWebhooks } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';
import { parseRegistration } from './registration.ts';
import { webhookObject } from './webhook-object.ts';

/** `POST /v1/webhooks` (contract 4.1). The one answer that carries the signing secret. */
export function createWebhook(webhooks: Pick<WebhookStore, 'create'>, perAccountMax: number): Handle {
  return async ({ key, body }) => {
    const parsed = parseRegistration(body);
    if (!parsed.ok) return parsed.refusal;
    const { accountId } = key;
    const created = await webhooks.create({ accountId, perAccountMax, ...parsed.fields });
    if (created.kind === 'limit-reached') return tooManyWebhooks(created.max);
    return json(201, { ...webhookObject(created.webhook), signing_secret: created.signingSecret });
  };
}
