import { parse } from 'tldts';
import { parseUrl } from './parse-url.ts';

export type DomainNameParse =
  | { readonly ok: true; /** ASCII, lower case, without a final dot */ readonly name: string }
  | { readonly ok: false; readonly fault: string };

/**
 * Labels of letters, digits and hyphens (RFC 1035 2.3.4, RFC 1123 2.1), at least two. The last label is not a
 * number: some programs read `127.1` as an address.
 */
const HOST_NAME =
  /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?!\d+$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** The domain of a mailbox. Senders use names with underscores, although a host name has none. */
const MAIL_DOMAIN = /^(?=.{1,253}$)(?:\w(?:[\w-]{0,61}\w)?\.)+(?!\d+$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;
/** The characters of an internationalised name. Another character could start a different part of a URL. */
const UNICODE_NAME = /^[\p{L}\p{M}\p{N}.-]+$/u;
/** Characters of a name in Unicode. Its ASCII form is never shorter. */
const WRITTEN_LENGTH_MAX = 253;

/**
 * The form in which names are stored and compared: ASCII (IDNA), lower case.
 *
 * @returns null for an invalid host name.
 */
export function asciiDomain(text: string): string | null {
  if (text.length > WRITTEN_LENGTH_MAX) return null;
  const ascii = isAscii(text) ? text.toLowerCase() : idnaToAscii(text);
  return ascii !== null && HOST_NAME.test(ascii) ? ascii : null;
}

/**
 * The domain of an address: ASCII (IDNA), in the case as written, without a final dot.
 *
 * @returns null for an invalid name.
 */
export function mailDomain(text: string): string | null {
  if (text.length > WRITTEN_LENGTH_MAX) return null;
  const name = text.endsWith('.') ? text.slice(0, -1) : text;
  const ascii = isAscii(name) ? name : idnaToAscii(name);
  return ascii !== null && MAIL_DOMAIN.test(ascii) ? ascii : null;
}

/** A sending domain is a name that can be registered, or a name below one. */
export function parseDomainName(text: string): DomainNameParse {
  if (parse(text, { extractHostname: false }).isIp === true) return { ok: false, fault: 'is an IP address' };
  const name = asciiDomain(text);
  if (name === null) return { ok: false, fault: 'is not a domain name' };
  const { domain } = parse(name, { allowPrivateDomains: true });
  // Many owners have names below a public suffix (https://publicsuffix.org); no one owns the suffix itself.
  return domain === null ? { ok: false, fault: 'is a public suffix' } : { ok: true, name };
}

/** Converts as URLs do (UTS 46). @returns null for an invalid name. */
function idnaToAscii(text: string): string | null {
  return UNICODE_NAME.test(text) ? (parseUrl(`http://${text}`)?.hostname ?? null) : null;
}

export function isAscii(text: string): boolean {
  return /^[\u0000-\u007f]*$/.test(text);
}
