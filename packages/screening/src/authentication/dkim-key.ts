import { getPublicKey } from 'mailauth/lib/tools.js';
import type { Resolve } from './bounded-resolver.ts';
import type { Signature } from './dkim-signature.ts';

/** RFC 8301, section 3.2. */
const KEY_BITS_MIN = 1024;
const HASHES = /(?:^|;)h=([^;]+)/;
const SERVICES = /(?:^|;)s=([^;]+)/;
const FLAGS = /(?:^|;)t=([^;]+)/;

/**
 * Asks for the public key of a signature, in PEM (RFC 6376, section 3.6).
 *
 * @throws when there is none, it is unusable or too short, or its record keeps it from such a signature; the
 * resolver's error when no name server answered
 */
export async function findKey(signature: Signature, resolve: Resolve): Promise<string> {
  const name = `${signature.selector}._domainkey.${signature.domain}`;
  const { publicKey, rr } = await getPublicKey('DKIM', name, KEY_BITS_MIN, resolve);
  if (!isFor(signature, rr)) throw new Error('The key is not for such signatures.');
  return publicKey;
}

/** What mailauth does not look at: the tags `h`, `s` and `t` (RFC 6376, section 3.6.1). */
function isFor({ domain, identityDomain }: Signature, record: string): boolean {
  const services = listOf(record, SERVICES) ?? ['*'];
  const hashes = listOf(record, HASHES) ?? ['sha256'];
  const isStrict = listOf(record, FLAGS)?.includes('s') ?? false;
  return (
    (services.includes('*') || services.includes('email')) &&
    hashes.includes('sha256') &&
    (!isStrict || identityDomain === domain)
  );
}

function listOf(record: string, tag: RegExp): readonly string[] | undefined {
  return tag.exec(record)?.[1]?.toLowerCase().split(':');
}
