import { asciiDomain } from './domain-name.ts';
import { inboundAddress, inboundDomain } from './inbound-address.ts';

/** The mail that a routing rule accepts. */
export interface InboundMatch {
  /** The stored form: an address as `inboundAddress` writes it, or `*@` and a domain. */
  readonly match: string;
  /** ASCII, lower case. */
  readonly domain: string;
  /** True: the rule accepts all mail to the domain. */
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
