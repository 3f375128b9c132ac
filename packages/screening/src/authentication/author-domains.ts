import { writtenDomains } from '@postrider/domain';
import { addressesIn } from '@postrider/received-mail';
import { FROM_BYTES_MAX, valueOf } from './message-fields.ts';
import type { HeaderField } from './message-fields.ts';

/** Bounds the questions to name servers and the time to read. A message has one author, seldom two. */
export const AUTHOR_DOMAINS_MAX = 4;

/**
 * The domains of all authors: of every address in every From field, groups included (RFC 6854). The addresses
 * are those that a record shows: another parser would let a sender show one and have another judged.
 *
 * @returns null when there are more than {@link AUTHOR_DOMAINS_MAX} of them or {@link FROM_BYTES_MAX} bytes
 * of From, or when an address or its domain cannot be read
 */
export function authorDomains(fields: readonly HeaderField[]): readonly string[] | null {
  const from = fields.filter(({ name }) => name === 'from');
  if (from.reduce((sum, { line }) => sum + line.length, 0) > FROM_BYTES_MAX) return null;
  const addresses = addressesIn(from.map(valueOf));
  if (addresses === null) return null;
  const domains = new Set<string>();
  for (const address of addresses) {
    const written = writtenDomains(address);
    if (written.length === 0 && /@\s*\S/.test(address)) return null;
    for (const domain of written) domains.add(domain);
  }
  return domains.size > AUTHOR_DOMAINS_MAX ? null : [...domains];
}
