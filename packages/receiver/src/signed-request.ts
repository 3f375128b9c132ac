import { SignatureVerificationError } from './signature-error.ts';
import { parseSignatureHeader } from './signature-header.ts';
import type { SignatureHeader } from './signature-header.ts';
import type { WebhookEvent } from './webhook-event.ts';

export interface SignedRequest {
  /** The value of the `Service-Signature` header, as your framework returns it. */
  readonly header: string | readonly string[] | null | undefined;
  /** The body as received. A body that was parsed and serialised again does not verify. */
  readonly body: Uint8Array | ArrayBuffer | string;
  /** The webhook's whole signing secret, `whsec_` included. An array during a rotation: any match counts. */
  readonly secret: string | readonly string[];
  /**
   * The largest difference between the request's time and yours, in both directions. Default: 300 seconds.
   */
  readonly toleranceSeconds?: number;
  /** The current time. Default: the system's clock. */
  readonly now?: Date;
}

/** The secrets and the bytes to compute signatures from, and the header to compare them with. */
export interface SignatureCheck {
  readonly secrets: readonly string[];
  /** The bytes of `<t>.<body>` (contract 6.3). */
  readonly signed: Uint8Array;
  readonly header: SignatureHeader;
}

const TOLERANCE_SECONDS = 300;

/**
 * Reads a request before its signature is computed. It trusts nothing that it reads.
 *
 * @throws SignatureVerificationError without a header of the right form.
 * @throws TypeError when the call is wrong: no secret, or a body that was already parsed.
 */
export function readRequest(request: SignedRequest): SignatureCheck {
  const secrets = secretsOf(request.secret);
  const body = bytesOf(request.body);
  const text = [request.header ?? ''].flat().join(',');
  if (text === '') throw new SignatureVerificationError('no-header', 'the request has no signature header');
  const header = parseSignatureHeader(text);
  if (header === null) {
    throw new SignatureVerificationError('malformed', 'the signature header is not t=<seconds>,v1=<hex>');
  }
  const prefix = new TextEncoder().encode(`${header.t}.`);
  const signed = new Uint8Array(prefix.length + body.length);
  signed.set(prefix);
  signed.set(body, prefix.length);
  return { secrets, signed, header };
}

/**
 * Checks that a signature matched and that the time is within the tolerance.
 *
 * @throws SignatureVerificationError if not. A request that is forged and old gets `no-match`.
 */
export function acceptOrThrow(request: SignedRequest, header: SignatureHeader, matched: boolean): void {
  if (!matched) {
    throw new SignatureVerificationError('no-match', 'no signature matches the body and the secret');
  }
  const { toleranceSeconds = TOLERANCE_SECONDS, now = new Date() } = request;
  const skewSeconds = Math.abs(Math.floor(now.getTime() / 1000) - Number(header.t));
  // The negated comparison also refuses when the tolerance or the clock is NaN.
  if (!(skewSeconds <= toleranceSeconds)) {
    throw new SignatureVerificationError(
      'timestamp-outside-window',
      `the request's time is ${skewSeconds} s from ours; ${toleranceSeconds} s are allowed`,
    );
  }
}

/** The event of a verified body. The service wrote the body, so its shape is not checked. */
export function eventOf({ body }: SignedRequest): WebhookEvent {
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  return JSON.parse(text) as WebhookEvent;
}

function bytesOf(body: SignedRequest['body']): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  throw new TypeError('body must be the raw request body: bytes or a string, not a parsed object');
}

/** Refuses an empty secret: anyone could create its signatures. */
function secretsOf(secret: string | readonly string[]): readonly string[] {
  const secrets = [secret].flat();
  if (secrets.length === 0 || secrets.some((one: unknown) => typeof one !== 'string' || one === '')) {
    throw new TypeError('secret must be a signing secret, or an array of at least one');
  }
  return secrets;
}
