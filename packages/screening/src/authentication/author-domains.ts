import { domainToASCII } from 'node:url';
import { addressesIn } from '@postrider/received-mail';
import { valueOf } from './message-fields.ts';
import type { HeaderField } from './message-fields.ts';

/** Bounds the questions to name servers and the time to read. A message has one author, seldom two. */
export const AUTHOR_DOMAINS_MAX = 4;
const FROM_BYTES_MAX = 65_536;

/**
 * The domains of all authors: of every address in every From field, groups included (RFC 6854), in lower case
 * and ASCII. The addresses are those that a record shows: another parser would let a sender show one and have another judged.
 *
 * @returns null when there are more than {@link AUTHOR_DOMAINS_MAX} of them, or more than 64 KiB of From
 */
export function authorDomains(fields: readonly HeaderField[]): readonly string[] | null {
  const from = fields.filter(({ name }) => name === 'from');
  if (from.reduce((sum, { line }) => sum + line.length, 0) > FROM_BYTES_MAX) return null;
  const domains = new Set(
    addressesIn(from.map(valueOf))
      .map(domainOf)
      .filter((domain) => domain !== ''),
  );
  return domains.size > AUTHOR_DOMAINS_MAX ? null : [...domains];
}

/** A stray `>` or the like behind the domain must not make it unreadable: it would not be judged. */
const DOMAIN = /@([^\s@<>()[\],;:"\\]+)[^@]*$/;

function domainOf(address: string): string {
  return domainToASCII(DOMAIN.exec(address)?.[1] ?? '').replace(/\.$/, '');
}
