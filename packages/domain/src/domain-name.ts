import { parse } from 'tldts';
import { parseUrl } from './parse-url.ts';

export type DomainNameParse =
  | { readonly ok: true; /** ASCII, lower case, without a final dot */ readonly name: string }
  | { readonly ok: false; readonly fault: string };

/**
 * RFC 1035 2.3.4; letters, digits and hyphens (RFC 1123 2.1), two labels at the least. The last one is no number:
 * `127.1` is how some write an address.
 */
const HOST_NAME =
  /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?!\d+$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** What an internationalised name is written in; anything else could be another part of a URL. */
const UNICODE_NAME = /^[\p{L}\p{M}\p{N}.-]+$/u;
/** The characters of a name in Unicode: none is longer than its ASCII form. */
const WRITTEN_LENGTH_MAX = 253;

/** The one form in which names are stored and compared: IDNA in ASCII, lower case. @returns null for no host name. */
export function asciiDomain(text: string): string | null {
  if (text.length > WRITTEN_LENGTH_MAX) return null;
  const ascii = isAscii(text) ? text.toLowerCase() : idnaToAscii(text);
  return ascii !== null && HOST_NAME.test(ascii) ? ascii : null;
}

/** The rules of a sending domain: a name that somebody can have registered, or one under it. */
export function parseDomainName(text: string): DomainNameParse {
  if (parse(text, { extractHostname: false }).isIp === true) return { ok: false, fault: 'is an IP address' };
  const name = asciiDomain(text);
  if (name === null) return { ok: false, fault: 'is not a domain name' };
  const { domain } = parse(name, { allowPrivateDomains: true });
  // A public suffix (https://publicsuffix.org): many have names under it, and nobody has itself.
  return domain === null ? { ok: false, fault: 'is a public suffix' } : { ok: true, name };
}

/** UTS 46, as a URL does it. @returns null for what is no name. */
function idnaToAscii(text: string): string | null {
  return UNICODE_NAME.test(text) ? (parseUrl(`http://${text}`)?.hostname ?? null) : null;
}

export function isAscii(text: string): boolean {
  return /^[\u0000-\u007f]*$/.test(text);
}
