import { randomBytes } from 'node:crypto';

/** A new webhook's signing secret: `whsec_` and 32 random bytes in URL-safe text. */
export function newSigningSecret(): string {
  return `whsec_${randomBytes(32).toString('base64url')}`;
}
