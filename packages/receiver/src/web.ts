/** `@postrider/receiver/web`: the functions of the main entry, with Web Crypto in place of Node's crypto. */
import { acceptOrThrow, eventOf, readRequest } from './signed-request.ts';
import type { SignedRequest } from './signed-request.ts';
import type { WebhookEvent } from './webhook-event.ts';

export { SignatureVerificationError } from './signature-error.ts';
export type { SignatureFault } from './signature-error.ts';
export type { SignedRequest } from './signed-request.ts';
export type {
  NotificationDetail,
  ProviderNotification,
  ReceivedMessage,
  SendResult,
  TrackedNotification,
  Unsubscribed,
  WebhookEvent,
} from './webhook-event.ts';

const HMAC = { name: 'HMAC', hash: 'SHA-256' };

/**
 * Resolves when one of the signatures fits one of the secrets and the time is within the tolerance.
 *
 * @throws SignatureVerificationError when the request fails verification. `reason` says why.
 * @throws TypeError when the call is wrong: no secret, or a body that was already parsed.
 */
export async function verifySignature(request: SignedRequest): Promise<void> {
  const { secrets, signed, header } = readRequest(request);
  const matches = await Promise.all(
    secrets.map(async (secret) => {
      const bytes = new TextEncoder().encode(secret); // the whole secret as text (contract 6.3)
      const key = await crypto.subtle.importKey('raw', bytes, HMAC, false, ['verify']);
      // `verify` compares in constant time. Every secret is compared with every signature, so the duration
      // reveals nothing.
      return Promise.all(
        header.signatures.map((signature) => crypto.subtle.verify('HMAC', key, signature, signed)),
      );
    }),
  );
  acceptOrThrow(request, header, matches.flat().includes(true));
}

/**
 * Verifies a request and resolves to its event. The service wrote a verified body, so its shape is not
 * checked.
 *
 * @throws the errors of `verifySignature`. An unverified body is never parsed.
 */
export async function parseEvent(request: SignedRequest): Promise<WebhookEvent> {
  await verifySignature(request);
  return eventOf(request);
}
