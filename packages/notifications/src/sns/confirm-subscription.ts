import type { SnsSubscriptionConfirmation } from './envelope.ts';
import type { HttpsGet } from './https-get.ts';
import { parseSubscribeUrl } from './pinned-urls.ts';

export type Confirmation =
  | { readonly kind: 'confirmed' }
  /** For good: the URL leads elsewhere and was not visited, or SNS turned the token down. */
  | { readonly kind: 'refused'; readonly why: string }
  /** For now: SNS could not be asked; it sends the request again when it is answered with a 5xx. */
  | { readonly kind: 'unavailable'; readonly why: string };

/**
 * Confirms a subscription by visiting the address that SNS sent, once it is sure that it is SNS's. No request is ever
 * made to another host.
 *
 * @param envelope of a topic that is allowed, with its signature verified: see `authenticateSns`
 */
export async function confirmSubscription(
  envelope: SnsSubscriptionConfirmation,
  get: HttpsGet,
): Promise<Confirmation> {
  const url = parseSubscribeUrl(envelope);
  if (url === null) return { kind: 'refused', why: 'SubscribeURL does not confirm this topic at SNS' };
  const answer = await get(url);
  if (answer.kind === 'failed') return { kind: 'unavailable', why: answer.error };
  const { statusCode } = answer;
  if (statusCode >= 200 && statusCode < 300) return { kind: 'confirmed' };
  const isFinal = statusCode >= 400 && statusCode < 500 && statusCode !== 429;
  return { kind: isFinal ? 'refused' : 'unavailable', why: `SNS answered HTTP ${statusCode}` };
}
