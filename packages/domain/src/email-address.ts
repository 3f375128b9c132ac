import { asciiDomain } from './domain-name.ts';

/**
 * `local@domain` or `Name <local@domain>`, as mail APIs accept it. The rules catch typos and prevent header
 * injection. They are not the full grammar of RFC 5322.
 */
export interface EmailAddress {
  readonly name: string | null;
  /** The address as written. A Unicode domain is converted to ASCII, which mail servers accept (RFC 5891). */
  readonly address: string;
}

const ADDRESS =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$/;
const QUOTED = /^"((?:[^"\\]|\\.)*)"$/;

/**
 * The time is linear in the length of any text: a request may hold many addresses.
 *
 * @returns null when `text` is not an address.
 */
export function parseEmailAddress(text: string): EmailAddress | null {
  if (text.length > 998 || hasControlCharacter(text) || !text.isWellFormed()) return null;
  const whole = text.trim();
  const bracket = whole.endsWith('>') ? whole.lastIndexOf('<') : -1;
  const address = withAsciiDomain(bracket === -1 ? whole : whole.slice(bracket + 1, -1).trim());
  const name = bracket === -1 ? '' : displayName(whole.slice(0, bracket).trim());
  if (name === null || !isPlainAddress(address)) return null;
  return { name: name === '' ? null : name, address };
}

/**
 * The domain of a From address in ASCII and lower case, as sending domains are stored.
 *
 * @returns an empty string, which is not a domain name, when `from` is not an address.
 */
export function senderDomain(from: string): string {
  const address = parseEmailAddress(from)?.address ?? '';
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase();
}

/** @returns null when the text before the bracket is not a valid name. */
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

/** A control character could end a header line early, so headers never allow one. */
export function hasControlCharacter(text: string): boolean {
  return /[\u0000-\u001f\u007f]/.test(text);
}
