import type { DemonstrationFile, KeptWebhook } from '../state/demonstration-file.ts';
import type { ApiClient } from './api-client.ts';

/** A webhook as the API answers it. */
interface WebhookObject {
  readonly id: string;
  readonly endpoint: string;
  readonly signing_secret: string;
}

/**
 * The receiver's webhook: that of the last start while it fits, else a new one. One that no longer fits is deleted, so
 * that no event goes where nobody listens.
 *
 * @param sealedWith names the SECRETS_KEY of this start.
 */
export async function ensureWebhook(
  api: ApiClient,
  file: DemonstrationFile,
  wanted: { readonly endpoint: string; readonly sealedWith: string },
): Promise<KeptWebhook & { readonly fresh: boolean }> {
  const { data } = await api.request<{ data: readonly WebhookObject[] }>('GET', '/v1/webhooks');
  const kept = file.read().webhook;
  const there = data.find((webhook) => webhook.id === kept?.id);
  if (kept !== undefined && there?.endpoint === wanted.endpoint && kept.sealedWith === wanted.sealedWith) {
    return { ...kept, fresh: false };
  }
  if (there !== undefined) await api.request('DELETE', `/v1/webhooks/${there.id}`);
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
