import { createHmac, timingSafeEqual } from 'node:crypto';
import { parseSignatureHeader } from './signature-header.ts';

/** Why a request is not to be believed. */
export type SignatureFault = 'no-header' | 'malformed' | 'no-match' | 'timestamp-outside-window';

/** A request that did not prove that it comes from the service. Answer it with a 4xx and do nothing else. */
export class SignatureVerificationError extends Error {
  override readonly name = 'SignatureVerificationError';
  readonly reason: SignatureFault;

  constructor(reason: SignatureFault, message: string) {
    super(message);
    this.reason = reason;
  }
}

export interface SignedRequest {
  /** The value of the `Service-Signature` header, as the framework hands it over. */
  readonly header: string | readonly string[] | null | undefined;
  /** The body exactly as it was received: never parsed and written out again. */
  readonly body: Uint8Array | string;
  /** The webhook's whole signing secret, `whsec_` included; several while one takes the place of another. */
  readonly secret: string | readonly string[];
  /** How far the request's time may be from ours, before or after. Five minutes when left out. */
  readonly toleranceSeconds?: number;
  /** Our time; the system's clock when left out. */
  readonly now?: Date;
}

const TOLERANCE_SECONDS = 300;

/**
 * Returns when one of the signatures was made with one of the secrets, within the time window.
 *
 * @throws SignatureVerificationError when the request is not to be believed; `reason` says why.
 * @throws TypeError when the call itself is wrong: no secret, or a body that was already parsed.
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
  // Written so that a tolerance or a clock that is NaN refuses.
  if (!(skewSeconds <= toleranceSeconds)) {
    throw new SignatureVerificationError(
      'timestamp-outside-window',
      `the request's time is ${skewSeconds} s from ours; ${toleranceSeconds} s are allowed`,
    );
  }
}

/** An empty secret would make a signature that anyone can make. */
function secretsOf(secret: string | readonly string[]): readonly string[] {
  const secrets = [secret].flat();
  if (secrets.length === 0 || secrets.some((one: unknown) => typeof one !== 'string' || one === '')) {
    throw new TypeError('secret must be a signing secret, or an array of at least one');
  }
  return secrets;
}

/** HMAC-SHA256 over `<t>.<body>`, keyed with the whole secret as text (contract 6.3). */
function digest(secret: string, t: number, body: Uint8Array | string): Buffer {
  return createHmac('sha256', secret).update(`${t}.`).update(body).digest();
}

/** Looks at every pair, each in constant time, so that the time taken tells nothing. */
function anyEqual(expected: readonly Buffer[], given: readonly Buffer[]): boolean {
  return expected.reduce(
    (found, one) => given.reduce((matched, other) => timingSafeEqual(one, other) || matched, found),
    false,
  );
}
