// Not by name: Node 18 has no `hash`, and could not load a bundle to say that it is too old.
import * as crypto from 'node:crypto';

export const KEY_KINDS = ['live', 'test'] as const;

/** Mail sent with a `test` key is stored and never leaves, and makes no event. */
export type KeyKind = (typeof KEY_KINDS)[number];

const KEY = /^pr_(live|test)_[A-Za-z0-9_-]{43}$/;

/** A new API key: `pr_live_…` or `pr_test_…` with 32 random bytes in URL-safe text. */
export function newApiKey(kind: KeyKind): string {
  return `pr_${kind}_${crypto.randomBytes(32).toString('base64url')}`;
}

/** The SHA-256 under which a key is stored and found. The key has 256 random bits: no slow hash is needed. */
export function apiKeyDigest(key: string): Buffer {
  return crypto.hash('sha256', key, 'buffer');
}

/** The key in an `Authorization: Bearer <key>` header, or null when there is none of our form (contract 5). */
export function bearerKey(header: string | undefined): string | null {
  const key = /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1];
  return key !== undefined && KEY.test(key) ? key : null;
}
