import { verifySignature } from './verify-signature.ts';
import type { SignedRequest } from './verify-signature.ts';
import type { WebhookEvent } from './webhook-event.ts';

/**
 * Verifies a request and returns its event. The service wrote a verified body, so its shape is not checked.
 *
 * @throws the errors of `verifySignature`. It parses nothing before the verification.
 */
export function parseEvent(request: SignedRequest): WebhookEvent {
  verifySignature(request);
  const text = typeof request.body === 'string' ? request.body : new TextDecoder().decode(request.body);
  return JSON.parse(text) as WebhookEvent;
}
