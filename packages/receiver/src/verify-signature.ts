import { createHmac, timingSafeEqual } from 'node:crypto';
import { parseSignatureHeader } from './signature-header.ts';

/** Why a request failed verification. */
export type SignatureFault = 'no-header' | 'malformed' | 'no-match' | 'timestamp-outside-window';

/** The request did not prove that the service sent it. Answer with a 4xx and do nothing more. */
export class SignatureVerificationError extends Error {
  override readonly name = 'SignatureVerificationError';
  readonly reason: SignatureFault;

  constructor(reason: SignatureFault, message: string) {
    super(message);
    this.reason = reason;
  }
}

export interface SignedRequest {
  /** The value of the `Service-Signature` header, as your framework returns it. */
  readonly header: string | readonly string[] | null | undefined;
  /** The body as received. A body that was parsed and serialised again does not verify. */
  readonly body: Uint8Array | string;
  /** The webhook's whole signing secret, `whsec_` included. An array during a rotation: any match counts. */
  readonly secret: string | readonly string[];
  /**
   * The largest difference between the request's time and yours, in both directions. Default: 300 seconds.
   */
  readonly toleranceSeconds?: number;
  /** The current time. Default: the system's clock. */
  readonly now?: Date;
}

const TOLERANCE_SECONDS = 300;

/**
 * Returns when one of the signatures fits one of the secrets and the time is within the tolerance.
 *
 * @throws SignatureVerificationError when the request fails verification. `reason` says why.
 * @throws TypeError when the call is wrong: no secret, or a body that was already parsed.
 */
export function verifySignature(request: SignedRequest): void {
  const secrets = secretsOf(request.secret);
  if (typeof request.body !== 'string' && !(request.body instanceof Uint8Array)) {
    throw new TypeError('body must be the raw request body: a Buffer or a string, not a parsed object');
  }
  const header = [request.header ?? ''].flat().join(',');
  if (header === '') throw new SignatureVerificationError('no-header', 'the request has no signature header');
  const parsed = parseSignatureHeader(header);
  if (parsed === null) {
    throw new SignatureVerificationError('malformed', 'the signature header is not t=<seconds>,v1=<hex>');
  }
  const expected = secrets.map((secret) => digest(secret, parsed.t, request.body));
  if (!anyEqual(expected, parsed.signatures)) {
    throw new SignatureVerificationError('no-match', 'no signature matches the body and the secret');
  }
  const { toleranceSeconds = TOLERANCE_SECONDS, now = new Date() } = request;
  const skewSeconds = Math.abs(Math.floor(now.getTime() / 1000) - parsed.t);
  // The negated comparison also refuses when the tolerance or the clock is NaN.
  if (!(skewSeconds <= toleranceSeconds)) {
    throw new SignatureVerificationError(
      'timestamp-outside-window',
      `the request's time is ${skewSeconds} s from ours; ${toleranceSeconds} s are allowed`,
    );
  }
}

/** Refuses an empty secret: anyone could create its signatures. */
function secretsOf(secret: string | readonly string[]): readonly string[] {
  const secrets = [secret].flat();
  if (secrets.length === 0 || secrets.some((one: unknown) => typeof one !== 'string' || one === '')) {
    throw new TypeError('secret must be a signing secret, or an array of at least one');
  }
  return secrets;
}

/** The HMAC-SHA256 of `<t>.<body>`. The key is the whole secret as text (contract 6.3). */
function digest(secret: string, t: number, body: Uint8Array | string): Buffer {
  return createHmac('sha256', secret).update(`${t}.`).update(body).digest();
}

/** Compares every pair in constant time, so that the duration reveals nothing. */
function anyEqual(expected: readonly Buffer[], given: readonly Buffer[]): boolean {
  return expected.reduce(
    (found, one) => given.reduce((matched, other) => timingSafeEqual(one, other) || matched, found),
    false,
  );
}
