// Node 18 has no `hash`, and importing it by name fails. But each bundle must load there, to say that Node
// is too old.
import * as crypto from 'node:crypto';

export const KEY_KINDS = ['live', 'test'] as const;

/** Mail that a `test` key sends is stored. It is never sent and causes no event. */
export type KeyKind = (typeof KEY_KINDS)[number];

const KEY = /^pr_(live|test)_[A-Za-z0-9_-]{43}$/;

/** A new API key: `pr_live_…` or `pr_test_…` with 32 random bytes in URL-safe text. */
export function newApiKey(kind: KeyKind): string {
  return `pr_${kind}_${crypto.randomBytes(32).toString('base64url')}`;
}

/** Keys are stored and found by this SHA-256. A key has 256 random bits, so a slow hash is not needed. */
export function apiKeyDigest(key: string): Buffer {
  return crypto.hash('sha256', key, 'buffer');
}

/** The key in `Authorization: Bearer <key>` (contract 5). Null when the header holds no key of our form. */
export function bearerKey(header: string | undefined): string | null {
  const key = /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1];
  return key !== undefined && KEY.test(key) ? key : null;
}
