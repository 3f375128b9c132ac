import type { NewWebhook, WebhookCreation, WebhookStore } from '@postrider/store';

/** Registers a webhook of an account that may have any number of them. */
export async function newWebhook(
  webhooks: Pick<WebhookStore, 'create'>,
  request: Omit<NewWebhook, 'perAccountMax'>,
): Promise<Extract<WebhookCreation, { kind: 'created' }>> {
  const created = await webhooks.create({ ...request, perAccountMax: Infinity });
  if (created.kind !== 'created') throw new Error(created.kind);
  return created;
}
