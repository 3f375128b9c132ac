import type { SecretBox } from '@postrider/domain';
import { LRUCache } from 'lru-cache';

interface Opened {
  readonly keyId: string;
  /** A copy: a row's bytes are part of a larger buffer, and would keep the whole buffer in memory. */
  readonly sealed: Uint8Array;
  readonly secret: string;
}

/** The number of secrets in the cache. It drops the least recently used one. */
const OPENED_MAX = 10_000;

/**
 * Caches the opened secrets of webhooks: opening one costs more than a signature. The cache
 * compares the sealed bytes each time, so it opens a new secret of the same webhook again. It stores no
 * secret that fails to open.
 */
export function createOpenedSecrets(
  secrets: Pick<SecretBox, 'open'>,
  openedMax = OPENED_MAX,
): Pick<SecretBox, 'open'> {
  const opened = new LRUCache<string, Opened>({ max: openedMax });

  return {
    open({ keyId, sealed }, owner) {
      const known = opened.get(owner);
      if (known?.keyId === keyId && Buffer.compare(known.sealed, sealed) === 0) return known.secret;
      const secret = secrets.open({ keyId, sealed }, owner);
      opened.set(owner, { keyId, sealed: new Uint8Array(sealed), secret });
      return secret;
    },
  };
}
