import { asciiDomain } from './domain-name.ts';
import { parseEmailAddress } from './email-address.ts';

/**
 * The form in which recipients are stored and compared: no name, lower case, domain in ASCII. RFC 5321 2.4
 * allows `Bob@b.example` and `bob@b.example` to be two people. In practice they are one, so a suppression
 * covers both.
 *
 * @param text an address without a name, its domain in Unicode or ASCII.
 * @returns null when `text` is not a bare address.
 */
export function plainAddress(text: string): string | null {
  const at = text.lastIndexOf('@');
  const domain = asciiDomain(text.slice(at + 1));
  if (at === -1 || domain === null) return null;
  const address = `${text.slice(0, at)}@${domain}`;
  const parsed = parseEmailAddress(address);
  return parsed?.address === address ? address.toLowerCase() : null;
}
