import { verifySignature } from './verify-signature.ts';
import type { SignedRequest } from './verify-signature.ts';
import type { WebhookEvent } from './webhook-event.ts';

/**
 * Verifies a request and returns the event it carries. What is verified was written by the service, so its
 * shape is not checked again.
 *
 * @throws what `verifySignature` throws; nothing is parsed before it is believed.
 */
export function parseEvent(request: SignedRequest): WebhookEvent {
  verifySignature(request);
  const text = typeof request.body === 'string' ? request.body : new TextDecoder().decode(request.body);
  return JSON.parse(text) as WebhookEvent;
}
