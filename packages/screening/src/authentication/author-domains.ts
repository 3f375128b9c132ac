import { writtenDomains } from '@postrider/domain';
import { addressesIn } from '@postrider/received-mail';
import { FROM_BYTES_MAX, valueOf } from './message-fields.ts';
import type { HeaderField } from './message-fields.ts';

/** Limits DNS queries and reading time. A message has one author, seldom two. */
export const AUTHOR_DOMAINS_MAX = 4;

/**
 * The domains of all authors: every address in every From field, groups included (RFC 6854). It reads the
 * same addresses that a message record shows. With another parser, a sender could show one author and have
 * another one judged.
 *
 * @returns null when there are more than {@link AUTHOR_DOMAINS_MAX} domains or {@link FROM_BYTES_MAX} bytes
 * of From, or when an address or its domain is unreadable
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
