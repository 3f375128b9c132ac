import { asciiDomain } from './domain-name.ts';
import { inboundAddress, inboundDomain } from './inbound-address.ts';

/** What mail a routing rule takes. */
export interface InboundMatch {
  /** As rules are stored and compared: an address as `inboundAddress` writes it, or `*@` and a domain. */
  readonly match: string;
  /** ASCII, lower case. */
  readonly domain: string;
  /** Whether it takes all mail of the domain. */
  readonly isWholeDomain: boolean;
}

const ANY = '*@';

/** @returns null when `text` is neither a bare address nor `*@` and a domain. */
export function parseInboundMatch(text: string): InboundMatch | null {
  if (text.startsWith(ANY)) {
    const domain = asciiDomain(text.slice(ANY.length));
    return domain === null ? null : { match: `${ANY}${domain}`, domain, isWholeDomain: true };
  }
  const address = inboundAddress(text);
  return address === null ? null : { match: address, domain: inboundDomain(address), isWholeDomain: false };
}
