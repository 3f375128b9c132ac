import { createHmac, randomBytes } from 'node:crypto';
import type { EventId } from './ids.ts';

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
  const t = unixSeconds(at);
  const digest = createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex');
  return `t=${t},v1=${digest}`;
}

/**
 * The signing secret as the libraries of Standard Webhooks take it: they decode the base64 after `whsec_`. So
 * their key is ours: the whole secret as text.
 */
export function standardSecret(secret: string): string {
  return `whsec_${Buffer.from(secret).toString('base64')}`;
}

/**
 * The headers of Standard Webhooks 1.0.0. `webhook-signature` is the HMAC-SHA256 of `<id>.<timestamp>.<body>`
 * in base64. Parameters as in `signatureHeader`.
 */
export function standardWebhooksHeaders(
  secret: string,
  { id, body, at }: { readonly id: EventId; readonly body: Buffer; readonly at: Date },
): Readonly<Record<string, string>> {
  const t = unixSeconds(at);
  const digest = createHmac('sha256', secret).update(`${id}.${t}.`).update(body).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(t), 'webhook-signature': `v1,${digest}` };
}

function unixSeconds(at: Date): number {
  return Math.floor(at.getTime() / 1000);
}
