import type { DemonstrationFile, KeptWebhook } from '../state/demonstration-file.ts';
import type { ApiClient } from './api-client.ts';

/** A webhook in an answer of the API. */
interface WebhookObject {
  readonly id: string;
  readonly endpoint: string;
  readonly signing_secret: string;
}

/**
 * Returns the webhook of the last start if it still matches the receiver, or makes a new one. Deletes a
 * webhook that no longer matches, so that no event goes to a dead address.
 *
 * @param sealedWith identifies the SECRETS_KEY of this start.
 */
export async function ensureWebhook(
  api: ApiClient,
  file: DemonstrationFile,
  wanted: { readonly endpoint: string; readonly sealedWith: string },
): Promise<KeptWebhook & { readonly fresh: boolean }> {
  const { data } = await api.request<{ data: readonly WebhookObject[] }>('GET', '/v1/webhooks');
  const kept = file.read().webhook;
  const existing = data.find((webhook) => webhook.id === kept?.id);
  if (kept !== undefined && existing?.endpoint === wanted.endpoint && kept.sealedWith === wanted.sealedWith) {
    return { ...kept, fresh: false };
  }
  if (existing !== undefined) await api.request('DELETE', `/v1/webhooks/${existing.id}`);
  const made = await api.request<WebhookObject>('POST', '/v1/webhooks', { endpoint: wanted.endpoint });
  const webhook: KeptWebhook = {
    id: made.id,
    endpoint: made.endpoint,
    signingSecret: made.signing_secret,
    sealedWith: wanted.sealedWith,
  };
  file.keep({ webhook });
  return { ...webhook, fresh: true };
}
