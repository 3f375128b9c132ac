import { parseEmailAddress, unquotedLocalPart } from './email-address.ts';

/**
 * The form in which recipients are stored and compared: no name, lower case, domain in ASCII, no needless
 * quotes. RFC 5321 2.4 allows `Bob@b.example` and `bob@b.example` to be two people. In practice they are one,
 * so a suppression covers both.
 *
 * @param text an address without a name, its domain in Unicode or ASCII.
 * @returns null when `text` is not a bare address.
 */
export function plainAddress(text: string): string | null {
  const parsed = parseEmailAddress(text);
  // <a@b.example> parses with no name.
  if (parsed === null || parsed.name !== null || text !== text.trim() || text.endsWith('>')) return null;
  return plainForm(parsed.address);
}

/** @param address as `parseEmailAddress` returns it. */
function plainForm(address: string): string {
  const at = address.lastIndexOf('@');
  return `${unquotedLocalPart(address.slice(0, at))}${address.slice(at)}`.toLowerCase().normalize('NFC');
}

/**
 * @param texts addresses, with or without names.
 * @returns the plain form of each text that is an address, each once.
 */
export function plainAddresses(texts: readonly string[]): string[] {
  const parsed = texts.flatMap((text) => parseEmailAddress(text) ?? []);
  return [...new Set(parsed.map(({ address }) => plainForm(address)))];
}
