import { asciiDomain } from './domain-name.ts';
import { plainAddress } from './plain-address.ts';

/** How a block list holds an address or a domain. @returns null when `text` is neither. */
export function senderPattern(text: string): string | null {
  return plainAddress(text) ?? asciiDomain(text);
}

/**
 * What a block list may hold that covers one of these senders: the address, its domain, and the domains above it.
 *
 * @param addresses bare, as received; what is none covers nothing.
 */
export function senderPatterns(addresses: readonly string[]): string[] {
  const patterns = addresses.flatMap((written) => {
    const address = plainAddress(written);
    if (address === null) return [];
    const labels = address.slice(address.lastIndexOf('@') + 1).split('.');
    return [address, ...labels.map((_, index) => labels.slice(index).join('.'))];
  });
  return [...new Set(patterns)];
}
