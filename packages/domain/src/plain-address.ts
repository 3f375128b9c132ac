import { asciiDomain } from './domain-name.ts';
import { parseEmailAddress } from './email-address.ts';

/**
 * The one form in which recipients are remembered and compared: no name, lower case, the domain in ASCII. That
 * `Bob@b.example` and `bob@b.example` are two people is allowed (RFC 5321 2.4) and never so: who asks not to be
 * written to means both.
 *
 * @param text an address without a name, its domain in Unicode or ASCII.
 * @returns null when it is none.
 */
export function plainAddress(text: string): string | null {
  const at = text.lastIndexOf('@');
  const domain = asciiDomain(text.slice(at + 1));
  if (at === -1 || domain === null) return null;
  const address = `${text.slice(0, at)}@${domain}`;
  const parsed = parseEmailAddress(address);
  return parsed?.address === address ? address.toLowerCase() : null;
}
