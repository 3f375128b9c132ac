import type { SealedSecret, SecretBox } from '@postrider/domain';

interface Opened {
  readonly keyId: string;
  /** A copy: what a row brings is a piece of a larger buffer, and would keep all of it. */
  readonly sealed: Uint8Array;
  readonly secret: string;
}

/** Webhooks remembered; the one that was longest not posted to is forgotten first. */
const OPENED_MAX = 10_000;

/**
 * Opens a webhook's signing secret once, not for each attempt: that costs more than the signature. What is sealed is
 * compared each time, so another secret of the same webhook is opened anew; one that cannot be opened is not remembered.
 */
export function createOpenedSecrets(
  secrets: Pick<SecretBox, 'open'>,
  openedMax = OPENED_MAX,
): Pick<SecretBox, 'open'> {
  const opened = new Map<string, Opened>();

  return {
    open(box, owner) {
      const known = opened.get(owner);
      const current = known !== undefined && isSame(known, box) ? known : openedNow(secrets, box, owner);
      opened.delete(owner); // to the end: the map's order is the order of use
      opened.set(owner, current);
      if (opened.size > openedMax) forgetOldest(opened);
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

function forgetOldest(opened: Map<string, Opened>): void {
  const oldest = opened.keys().next();
  if (oldest.done !== true) opened.delete(oldest.value);
}
