import { hkdfSync } from 'node:crypto';
import { createSecretBox } from './secret-box.ts';

/**
 * Text in tokens that stand in URLs. A token tells nobody what it holds, and cannot be made or altered
 * without a key.
 */
export interface SealedTokens {
  /** @returns letters, digits, `-` and `_`. */
  seal(text: string): string;
  /** @returns null for whatever `seal` has not made with one of the keys: the reasons are not told apart. */
  open(token: string): string | null;
}

const KEY_BYTES = 32;
const KEY_ID_BYTES = 4;
/** Enough for the longest address; a longer text is none of ours. */
const TOKEN_LENGTH_MAX = 1024;

/**
 * @param keys the service's secret keys: the first seals, each opens. Tokens are under keys derived from
 *   them.
 * @param purpose bound into the seal and into the keys: what is sealed for another opens no token. It never
 *   changes.
 */
export function createSealedTokens(keys: readonly Buffer[], purpose: string): SealedTokens {
  const box = createSecretBox(keys.map((key) => derivedKey(key, purpose)));
  return {
    seal(text) {
      const { keyId, sealed } = box.seal(text, purpose);
      return Buffer.concat([Buffer.from(keyId, 'hex'), sealed]).toString('base64url');
    },
    open(token) {
      const bytes = Buffer.from(token.slice(0, TOKEN_LENGTH_MAX), 'base64url');
      // Decoding is lenient: of the texts that decode to the same bytes only one is the token.
      if (bytes.toString('base64url') !== token) return null;
      const keyId = bytes.subarray(0, KEY_ID_BYTES).toString('hex');
      try {
        return box.open({ keyId, sealed: bytes.subarray(KEY_ID_BYTES) }, purpose);
      } catch {
        return null; // an unknown key, or bytes that its holder has not sealed
      }
    },
  };
}

/**
 * Tokens are handed to the world: what anybody learns of their key must say nothing about secrets at rest.
 */
function derivedKey(key: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', `postrider ${purpose} token`, KEY_BYTES));
}
