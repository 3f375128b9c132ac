import { mailDomain } from './domain-name.ts';

/**
 * `local@domain` or `Name <local@domain>`, as mail APIs accept it. The rules catch typos and prevent header
 * injection. They are not the full grammar of RFC 5322.
 */
export interface EmailAddress {
  readonly name: string | null;
  /** The address as written. A Unicode domain is converted to ASCII, which mail servers accept (RFC 5891). */
  readonly address: string;
}

/** The longest line of a message (RFC 5322 2.1.1). */
const ADDRESS_BYTES_MAX = 998;
/**
 * Providers gave out `a..b`, `a.` and local parts of more than 64 octets, so these are addresses. Letters may
 * be UTF-8 (RFC 6531 3.3).
 */
export const LOCAL_PART = /^[^\s\p{Cc}\p{Cs}"(),:;<>@[\\\]]+$/u;
/** RFC 5321 4.1.2. Angle brackets could end the path of an SMTP command early. */
const QUOTED_LOCAL_PART = /^"(?:[^"\\<>\p{Cc}]|\\[^<>\p{Cc}])+"$/u;
const QUOTED = /^"((?:[^"\\]|\\.)*)"$/;

/**
 * The time is linear in the length of any text: a request may hold many addresses.
 *
 * @returns null when `text` is not an address.
 */
export function parseEmailAddress(text: string): EmailAddress | null {
  if (text.length > ADDRESS_BYTES_MAX || hasControlCharacter(text) || !text.isWellFormed()) return null;
  const whole = text.trim();
  const bracket = whole.endsWith('>') ? whole.lastIndexOf('<') : -1;
  const address = withMailDomain(bracket === -1 ? whole : whole.slice(bracket + 1, -1).trim());
  const name = bracket === -1 ? '' : displayName(whole.slice(0, bracket).trim());
  return name === null || address === null ? null : { name: name === '' ? null : name, address };
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

/**
 * True when a text lists several recipients, such as `a@x.example, Bob <b@x.example>`. `parseEmailAddress`
 * reads it as one recipient with a long name. Requests refuse such a text. Stored mail may have it.
 */
export function isRecipientList(text: string): boolean {
  const name = text.slice(0, Math.max(0, text.lastIndexOf('<'))).trim();
  return !name.startsWith('"') && /[^\s@]@[^\s@][^@]*[,;]/.test(name);
}

/** @returns null when the text before the bracket is not a valid name. */
function displayName(text: string): string | null {
  const quoted = QUOTED.exec(text)?.[1];
  if (quoted !== undefined) return quoted.replaceAll(/\\(.)/g, '$1').trim();
  return /[<>"]/.test(text) ? null : text;
}

/** @returns null when `text` is not a bare address. */
function withMailDomain(text: string): string | null {
  const at = text.lastIndexOf('@');
  const local = text.slice(0, Math.max(0, at));
  const domain = mailDomain(text.slice(at + 1));
  if (domain === null || !isLocalPart(local)) return null;
  const address = `${local}@${domain}`;
  return Buffer.byteLength(address) > ADDRESS_BYTES_MAX ? null : address;
}

/** RFC 2047 5 (3): an address has no encoded word. A server that decodes it reads a different address. */
function isLocalPart(text: string): boolean {
  const unescaped = text.replaceAll('\\', '');
  if (unescaped.includes('=?') && unescaped.includes('?=')) return false;
  return LOCAL_PART.test(text) || QUOTED_LOCAL_PART.test(text);
}

/**
 * `"ann"@` and `ann@` are the same mailbox, and so are `"a\ b"@` and `"a b"@` (RFC 5321 4.1.2).
 *
 * @returns the form with the fewest quotes and backslashes.
 */
export function unquotedLocalPart(text: string): string {
  const content = QUOTED.exec(text)?.[1]?.replaceAll(/\\(.)/gu, '$1');
  if (content === undefined) return text;
  return LOCAL_PART.test(content) ? content : `"${content.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

/** Counts code points, as JSON Schema does. */
export function isLongerThan(text: string, lengthMax: number): boolean {
  return text.length > 2 * lengthMax || (text.length > lengthMax && Array.from(text).length > lengthMax);
}

/** A control character could end a header line early, so headers never allow one. */
export function hasControlCharacter(text: string): boolean {
  return /[\u0000-\u001f\u007f]/.test(text);
}

/** A stranger's text as one line: spaces for its control characters, and at most `lengthMax` code units. */
export function asLine(text: string, lengthMax: number): string {
  return text
    .replaceAll(/[\u0000-\u001f\u007f]/g, ' ')
    .slice(0, lengthMax)
    .toWellFormed();
}
