import { randomBytes } from 'node:crypto';

/** A new signing secret for a webhook: `whsec_` and 32 random bytes in URL-safe text. */
export function newSigningSecret(): string {
  return `whsec_${randomBytes(32).toString('base64url')}`;
}
