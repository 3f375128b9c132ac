import { asciiDomain } from './domain-name.ts';
import { writtenDomains } from './written-domain.ts';

/**
 * A local part without quotes (RFC 6531 3.3), and what providers gave out all the same: `a..b`. Mailing lists
 * exceed the 64 octets of RFC 5321 4.5.3.1. 256 characters take at most 1,024 of the 2,704 bytes that an
 * index entry of Postgres has.
 */
const LOCAL_PART = /^[^\s\p{Cc}\p{Cs}"(),:;<>@[\\\]]{1,256}$/u;
const QUOTED = /^"((?:[^"\\]|\\.)*)"$/;
/** RFC 1035 2.3.4: 253 characters, and so 127 labels at the most. A block list holds no longer name. */
const DOMAIN_LENGTH_MAX = 253;
const LABELS_MAX = 127;

/** How a block list holds an address or a domain. @returns null when `text` is neither. */
export function senderPattern(text: string): string | null {
  const at = text.lastIndexOf('@');
  const domain = asciiDomain(text.slice(at + 1));
  if (at === -1 || domain === null) return domain;
  const local = localPattern(text.slice(0, at));
  return local === null ? null : `${local}@${domain}`;
}

/**
 * What a block list may hold that covers one of these senders: the address, its domain, and the domains above
 * it. The domains are there for addresses, too, that no block list can hold.
 *
 * @param addresses bare, as received; nothing covers a text without `@`.
 */
export function senderPatterns(addresses: readonly string[]): string[] {
  const patterns = addresses.flatMap((written) => {
    const local = localPattern(unquoted(written.slice(0, written.lastIndexOf('@'))));
    return writtenDomains(written).flatMap((domain) => [
      ...(local === null ? [] : [`${local}@${domain}`]),
      ...domainsOver(domain),
    ]);
  });
  return [...new Set(patterns)];
}

/** @returns null for what no block list holds. */
function localPattern(text: string): string | null {
  const local = text.toLowerCase().normalize('NFC');
  return LOCAL_PART.test(local) ? local : null;
}

/** RFC 5321 4.1.2: `"ann"@` and `ann@` are one mailbox. */
function unquoted(local: string): string {
  return QUOTED.exec(local)?.[1]?.replaceAll(/\\(.)/g, '$1') ?? local;
}

/** Not of host names alone: `a_b.shop.example` is none, and `shop.example` covers it. */
function domainsOver(domain: string): string[] {
  const nearest = domain.split('.').slice(-LABELS_MAX);
  return nearest
    .map((_, index) => nearest.slice(index).join('.'))
    .filter(({ length }) => length <= DOMAIN_LENGTH_MAX);
}
