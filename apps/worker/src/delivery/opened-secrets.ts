import type { SealedSecret, SecretBox } from '@postrider/domain';
import { LRUCache } from 'lru-cache';

interface Opened {
  readonly keyId: string;
  /** A copy, because a row's bytes are part of a larger buffer and would keep all of it in memory. */
  readonly sealed: Uint8Array;
  readonly secret: string;
}

/** The number of webhooks in the cache. It drops the least recently used one. */
const OPENED_MAX = 10_000;

/**
 * Caches the opened signing secret of each webhook: opening it costs more than a signature. The cache
 * compares the sealed bytes each time, so it opens a new secret of the same webhook again. It stores no
 * secret that fails to open.
 */
export function createOpenedSecrets(
  secrets: Pick<SecretBox, 'open'>,
  openedMax = OPENED_MAX,
): Pick<SecretBox, 'open'> {
  const opened = new LRUCache<string, Opened>({ max: openedMax });

  return {
    open(box, owner) {
      const known = opened.get(owner);
      if (known !== undefined && isSame(known, box)) return known.secret;
      const current = openedNow(secrets, box, owner);
      opened.set(owner, current);
      return current.secret;
    },
  };
}

function openedNow(secrets: Pick<SecretBox, 'open'>, { keyId, sealed }: SealedSecret, owner: string): Opened {
  return { keyId, sealed: new Uint8Array(sealed), secret: secrets.open({ keyId, sealed }, owner) };
}

function isSame(one: Opened, other: SealedSecret): boolean {
  return one.keyId === other.keyId && Buffer.compare(one.sealed, other.sealed) === 0;
}
