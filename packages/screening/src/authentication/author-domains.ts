import { writtenDomains } from '@postrider/domain';
import type { WrittenAuthors } from '@postrider/received-mail';

/** Limits DNS queries. A message has one author, seldom two. */
const AUTHOR_DOMAINS_MAX = 4;

/**
 * The domains of all authors, in lower-case ASCII. A malformed address has each domain that a mail reader may
 * see in it.
 *
 * @returns null when the authors cannot be judged: there is not exactly one From field, an address has no
 * readable domain, or there are more than {@link AUTHOR_DOMAINS_MAX} domains
 */
export function authorDomains({ addresses, fields }: WrittenAuthors): readonly string[] | null {
  const domains = addresses.map(writtenDomains);
  const all = [...new Set(domains.flat())];
  const isReadable = fields === 1 && domains.length > 0 && domains.every(({ length }) => length > 0);
  return isReadable && all.length <= AUTHOR_DOMAINS_MAX ? all : null;
}
