import { getPublicKey } from 'mailauth/lib/tools.js';
import type { Resolve } from './bounded-resolver.ts';
import type { Signature } from './dkim-signature.ts';

/** RFC 8301, section 3.2. */
const KEY_BITS_MIN = 1024;
const HASHES = /(?:^|;)h=([^;]+)/;
const SERVICES = /(?:^|;)s=([^;]+)/;
const FLAGS = /(?:^|;)t=([^;]+)/;

/**
 * Queries the public key of a signature and returns it as PEM (RFC 6376, section 3.6).
 *
 * @throws Error when the key does not exist, is unusable or too short, or its record does not allow this
 * signature
 * @throws NoAnswerError when no name server answered
 */
export async function findKey(signature: Signature, resolve: Resolve): Promise<string> {
  const name = `${signature.selector}._domainkey.${signature.domain}`;
  const { publicKey, rr } = await getPublicKey('DKIM', name, KEY_BITS_MIN, resolve);
  if (!isFor(signature, rr)) throw new Error('The key is not for such signatures.');
  return publicKey;
}

/** Checks the tags `h`, `s` and `t`, which mailauth ignores (RFC 6376, section 3.6.1). */
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
