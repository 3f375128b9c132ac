import { asciiDomain } from './domain-name.ts';

/**
 * `local@domain` or `Name <local@domain>`, as mail APIs accept it: strict enough that a header cannot be
 * injected and a typo is caught, not a full RFC 5322 grammar.
 */
export interface EmailAddress {
  readonly name: string | null;
  /** As written, but for a domain in Unicode: that is in ASCII here, as mail servers take it (RFC 5891). */
  readonly address: string;
}

const ADDRESS =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$/;
const QUOTED = /^"((?:[^"\\]|\\.)*)"$/;

/**
 * Takes time in proportion to the text's length, whatever the text: a request may carry many.
 *
 * @returns null when `text` is no address.
 */
export function parseEmailAddress(text: string): EmailAddress | null {
  if (text.length > 998 || hasControlCharacter(text) || !isWellFormed(text)) return null;
  const whole = text.trim();
  const bracket = whole.endsWith('>') ? whole.lastIndexOf('<') : -1;
  const address = withAsciiDomain(bracket === -1 ? whole : whole.slice(bracket + 1, -1).trim());
  const name = bracket === -1 ? '' : displayName(whole.slice(0, bracket).trim());
  if (name === null || !isPlainAddress(address)) return null;
  return { name: name === '' ? null : name, address };
}

/**
 * The domain that `parseEmailAddress` finds in From, in the form in which sending domains are stored: ASCII, lower case.
 *
 * @returns an empty text, which is no domain's name, when `from` is no address.
 */
export function senderDomain(from: string): string {
  const address = parseEmailAddress(from)?.address ?? '';
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase();
}

/** @returns null when the text before the bracket is no name. */
function displayName(text: string): string | null {
  const quoted = QUOTED.exec(text)?.[1];
  if (quoted !== undefined) return quoted.replaceAll(/\\(.)/g, '$1').trim();
  return /[<>"]/.test(text) ? null : text;
}

function withAsciiDomain(address: string): string {
  const domainAt = address.lastIndexOf('@') + 1;
  const domain = address.slice(domainAt);
  if (/^[\u0000-\u007f]*$/.test(domain)) return address;
  return `${address.slice(0, domainAt)}${asciiDomain(domain) ?? ''}`;
}

function isPlainAddress(address: string): boolean {
  const local = address.slice(0, address.lastIndexOf('@'));
  return ADDRESS.test(address) && !local.startsWith('.') && !local.endsWith('.') && !local.includes('..');
}

/** Half of a surrogate pair alone is no character: it has no UTF-8, so it could not be kept or sent as written. */
export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/** A control character would end a header line early: never allowed in one. */
export function hasControlCharacter(text: string): boolean {
  return /[\u0000-\u001f\u007f]/.test(text);
}
