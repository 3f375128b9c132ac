import { asciiDomain } from './domain-name.ts';
import { isLongerThan, LOCAL_PART, unquotedLocalPart } from './email-address.ts';
import { DOMAIN_LENGTH } from './text-patterns.ts';
import { writtenDomains } from './written-domain.ts';

/**
 * Mailing lists exceed the 64 octets of RFC 5321 4.5.3.1. 256 characters take at most 1,024 bytes; a Postgres
 * index entry allows 2,704.
 */
const LOCAL_LENGTH_MAX = 256;
/** A name with `DOMAIN_LENGTH` characters has no more labels than this. */
const LABELS_MAX = 127;

/** The form of an address or a domain in a block list. @returns null when `text` is neither. */
export function senderPattern(text: string): string | null {
  const at = text.lastIndexOf('@');
  const domain = asciiDomain(text.slice(at + 1));
  if (domain === null) return null;
  if (at === -1) return domain;
  const local = localPattern(text.slice(0, at));
  return local === null ? null : `${local}@${domain}`;
}

/**
 * All block list entries that would cover one of these senders: the address, its domain, and each parent
 * domain. The domains are included even when a block list cannot hold the address.
 *
 * @param addresses bare addresses as received. A text without `@` matches nothing.
 */
export function senderPatterns(addresses: readonly string[]): string[] {
  const patterns = addresses.flatMap((written) => {
    const local = localPattern(unquotedLocalPart(written.slice(0, written.lastIndexOf('@'))));
    return writtenDomains(written).flatMap((domain) => [
      ...(local === null ? [] : [`${local}@${domain}`]),
      ...domainsOver(domain),
    ]);
  });
  return [...new Set(patterns)];
}

/** @returns null when a block list cannot hold the local part. */
function localPattern(text: string): string | null {
  const local = text.toLowerCase().normalize('NFC');
  return LOCAL_PART.test(local) && !isLongerThan(local, LOCAL_LENGTH_MAX) ? local : null;
}

/**
 * The name and its parent domains. A block list holds no name longer than `DOMAIN_LENGTH`. The name need not
 * be a host name: `shop.example` covers `a_b.shop.example`.
 */
function domainsOver(domain: string): string[] {
  const nearest = domain.split('.').slice(-LABELS_MAX);
  return nearest
    .map((_, index) => nearest.slice(index).join('.'))
    .filter(({ length }) => length <= DOMAIN_LENGTH);
}
