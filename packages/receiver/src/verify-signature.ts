import { createHmac, timingSafeEqual } from 'node:crypto';
import { acceptOrThrow, eventOf, readRequest } from './signed-request.ts';
import type { SignedRequest } from './signed-request.ts';
import type { WebhookEvent } from './webhook-event.ts';

/**
 * Returns when one of the signatures fits one of the secrets and the time is within the tolerance.
 *
 * @throws SignatureVerificationError when the request fails verification. `reason` says why.
 * @throws TypeError when the call is wrong: no secret, or a body that was already parsed.
 */
export function verifySignature(request: SignedRequest): void {
  const { secrets, signed, header } = readRequest(request);
  // The key is the whole secret as text (contract 6.3).
  const expected = secrets.map((secret) => createHmac('sha256', secret).update(signed).digest());
  acceptOrThrow(request, header, anyEqual(expected, header.signatures));
}

/**
 * Verifies a request and returns its event. The service wrote a verified body, so its shape is not checked.
 *
 * @throws the errors of `verifySignature`. It parses nothing before the verification.
 */
export function parseEvent(request: SignedRequest): WebhookEvent {
  verifySignature(request);
  return eventOf(request);
}

/** Compares every pair in constant time, so that the duration reveals nothing. */
function anyEqual(expected: readonly Uint8Array[], given: readonly Uint8Array[]): boolean {
  return expected.flatMap((one) => given.map((other) => timingSafeEqual(one, other))).includes(true);
}
