import { hkdfSync } from 'node:crypto';
import { createSecretBox } from './secret-box.ts';

const KEY_BYTES = 32;
const KEY_ID_BYTES = 4;
/** The longest text holds an address of 998 bytes. With JSON's escapes its token has 2,800 characters. */
const TOKEN_LENGTH_MAX = 4096;

/**
 * Encrypted text for URLs. Without a key, no one can read, create or change a token.
 *
 * @param keys the service's secret keys. The first encrypts, each decrypts. Tokens use keys derived from
 *   them.
 * @param purpose is part of the encryption and of the derived keys. A token of another purpose does not open.
 *   A purpose must never change.
 */
export function createSealedTokens(keys: readonly Buffer[], purpose: string) {
  const box = createSecretBox(keys.map((key) => derivedKey(key, purpose)));
  return {
    /** @returns letters, digits, `-` and `_`. */
    seal(text: string): string {
      const { keyId, sealed } = box.seal(text, purpose);
      return Buffer.concat([Buffer.from(keyId, 'hex'), sealed]).toString('base64url');
    },
    /** @returns null for every token that `seal` did not create with one of the keys, for any reason. */
    open(token: string): string | null {
      const bytes = Buffer.from(token.slice(0, TOKEN_LENGTH_MAX), 'base64url');
      // Several texts decode to the same bytes. Only the canonical text is the token.
      if (bytes.toString('base64url') !== token) return null;
      const keyId = bytes.subarray(0, KEY_ID_BYTES).toString('hex');
      try {
        return box.open({ keyId, sealed: bytes.subarray(KEY_ID_BYTES) }, purpose);
      } catch {
        return null; // an unknown key, or bytes that the key did not encrypt
      }
    },
  };
}

/** Tokens are public. Knowledge about their key must reveal nothing about stored secrets. */
function derivedKey(key: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', `postrider ${purpose} token`, KEY_BYTES));
}
