import type { SnsSubscriptionConfirmation } from './envelope.ts';
import type { HttpsGet } from './https-get.ts';
import { parseSubscribeUrl } from './pinned-urls.ts';

export type Confirmation =
  | { readonly kind: 'confirmed' }
  /** Permanent: the URL is not for this SNS topic, so no request was made. Or SNS answered 4xx, not 429. */
  | { readonly kind: 'refused'; readonly why: string }
  /**
   * Temporary: SNS gave no answer, or 429, 5xx or a redirect. The caller answers 5xx, so that SNS asks
   * again.
   */
  | { readonly kind: 'unavailable'; readonly why: string };

/**
 * Confirms a subscription with a request to the URL that SNS sent. It first checks that the URL is SNS's, and
 * never sends a request to another host.
 *
 * @param envelope a message of an allowed SNS topic with a verified signature: see `authenticateSns`.
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
