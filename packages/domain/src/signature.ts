import { createHmac } from 'node:crypto';

/**
 * The value of the signature header (contract 6.3): HMAC-SHA256 over `<t>.<body>`, keyed with the whole
 * secret as text, prefix included, in lower-case hexadecimal.
 *
 * @param body the bytes exactly as they are sent.
 * @param at the attempt's own time: every attempt is signed afresh.
 */
export function signatureHeader(secret: string, body: Buffer, at: Date): string {
  const t = Math.floor(at.getTime() / 1000);
  const digest = createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex');
  return `t=${t},v1=${digest}`;
}
