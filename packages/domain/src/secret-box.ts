import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/** A secret at rest: AES-256-GCM. `keyId` says which of the configured keys opens it. */
export interface SealedSecret {
  readonly keyId: string;
  /** 12 bytes nonce, 16 bytes tag, then the ciphertext. */
  readonly sealed: Uint8Array;
}

/** Seals with the first key and opens with any: keys are rotated by putting a new one in front. */
export interface SecretBox {
  /** @param owner id of what the secret belongs to; bound to it, so a sealed secret cannot be moved. */
  seal(secret: string, owner: string): SealedSecret;
  /** @throws Error when no configured key fits or the bytes were altered. */
  open(box: SealedSecret, owner: string): string;
}

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** @param keys 32 bytes each; at least one. @throws Error when there is none or one of another length. */
export function createSecretBox(keys: readonly Buffer[]): SecretBox {
  const [first] = keys;
  if (first === undefined) throw new Error('a secret box needs at least one key');
  if (keys.some((key) => key.length !== KEY_BYTES)) throw new Error(`each key needs ${KEY_BYTES} bytes`);
  const keysById = new Map(keys.map((key) => [keyIdOf(key), key]));

  return {
    seal(secret, owner) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', first, nonce).setAAD(Buffer.from(owner));
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      return { keyId: keyIdOf(first), sealed: Buffer.concat([nonce, cipher.getAuthTag(), text]) };
    },
    open(box, owner) {
      const key = keysById.get(box.keyId);
      if (key === undefined) throw new Error(`no configured key has the id ${box.keyId}`);
      const nonce = box.sealed.subarray(0, NONCE_BYTES);
      const tag = box.sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
      // Without its length stated, a tag cut short would be accepted at its own strength.
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(owner))
        .setAuthTag(tag);
      const text = decipher.update(box.sealed.subarray(NONCE_BYTES + TAG_BYTES));
      return Buffer.concat([text, decipher.final()]).toString('utf8');
    },
  };
}

/** Eight hexadecimal digits of the key's SHA-256: names the key without telling it. */
function keyIdOf(key: Buffer): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 8);
}
