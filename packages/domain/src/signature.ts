import { createHmac, randomBytes } from 'node:crypto';

/** A new signing secret for a webhook: `whsec_` and 32 random bytes in URL-safe text. */
export function newSigningSecret(): string {
  return `whsec_${randomBytes(32).toString('base64url')}`;
}

/**
 * The value of the signature header (contract 6.3): the HMAC-SHA256 of `<t>.<body>` in lower-case
 * hexadecimal. The key is the whole secret as text, prefix included.
 *
 * @param body the bytes that are sent.
 * @param at the time of this attempt. Each attempt has its own signature.
 */
export function signatureHeader(secret: string, body: Buffer, at: Date): string {
  const t = Math.floor(at.getTime() / 1000);
  const digest = createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex');
  return `t=${t},v1=${digest}`;
}
