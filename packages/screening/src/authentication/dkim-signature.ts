import { parseDkimHeaders } from 'mailauth/lib/tools.js';

export type Canonicalization = 'simple' | 'relaxed';

/** A parsed DKIM-Signature field (RFC 6376, section 3.5). */
export interface Signature {
  readonly line: Buffer;
  readonly algorithm: 'rsa-sha256' | 'ed25519-sha256';
  readonly headerCanonicalization: Canonicalization;
  readonly bodyCanonicalization: Canonicalization;
  /** Lower case. */
  readonly domain: string;
  /** The domain of `i=`, in lower case: `domain` or a name below it. */
  readonly identityDomain: string;
  readonly selector: string;
  /** Field names in lower case, in the order of `h=`. */
  readonly signedNames: readonly string[];
  /** Base64. */
  readonly bodyHash: string;
  /** Base64. */
  readonly value: string;
  /** Number of signed bytes of the canonical body; null means all. */
  readonly bodyLength: number | null;
  readonly expiresAtMs: number | null;
}

/** Host names only. See NAME in bounded-resolver.ts for the characters that c-ares misreads. */
const DOMAIN = /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/;
const SIGNED_NAMES_MAX = 500;

/**
 * The second group is the value of `b=`, which the signature does not cover. The tag stands first or after a
 * semicolon, because ` b=` and `:b=` may occur inside other values.
 */
export const SIGNATURE_VALUE = /((?:^[^:;]*:|;)[ \t\r\n]*b[ \t\r\n]*=)([^;]*)/;
/**
 * Base64 and white space. mailauth would let a parenthesis or a quote in this value hide the tags behind it.
 */
const BASE64 = /^[A-Za-z0-9+/= \t\r\n]+$/;

/**
 * Parses a signature.
 * @returns null when a tag is missing, malformed or unsupported, such as `rsa-sha1` (RFC 8301, section 3.1)
 */
export function readSignature(line: Buffer): Signature | null {
  const { parsed } = parseDkimHeaders(line);
  const tag = (name: string) => parsed[name]?.value;
  const text = (name: string) => {
    const value = tag(name);
    return typeof value === 'string' ? value.trim() : '';
  };
  const algorithm = text('a').toLowerCase();
  const canonicalizations = readCanonicalizations(text('c'));
  const domain = text('d').toLowerCase();
  const identity = text('i').toLowerCase() || domain;
  const identityDomain = identity.slice(identity.lastIndexOf('@') + 1);
  const selector = text('s').toLowerCase();
  const signedNames = text('h').toLowerCase().split(':').filter(Boolean);
  const bodyLength = readNumber(tag('l'));
  const expiresAt = readNumber(tag('x'));
  const isUsable =
    tag('v') === 1 &&
    (algorithm === 'rsa-sha256' || algorithm === 'ed25519-sha256') &&
    DOMAIN.test(domain) &&
    DOMAIN.test(selector) &&
    signedNames.length <= SIGNED_NAMES_MAX &&
    text('bh') !== '' &&
    text('b') !== '' &&
    BASE64.test(SIGNATURE_VALUE.exec(line.toString('latin1'))?.[2] ?? '') &&
    (identityDomain === domain || identityDomain.endsWith(`.${domain}`));
  if (!isUsable || canonicalizations === null || bodyLength === undefined || expiresAt === undefined)
    return null;
  return {
    line,
    algorithm,
    ...canonicalizations,
    domain,
    identityDomain,
    selector,
    signedNames,
    bodyHash: text('bh'),
    value: text('b'),
    bodyLength,
    expiresAtMs: expiresAt === null ? null : expiresAt * 1000,
  };
}

function readCanonicalizations(value: string) {
  const [header = '', body = 'simple'] = (value === '' ? 'simple' : value).toLowerCase().split('/');
  return isCanonicalization(header) && isCanonicalization(body)
    ? { headerCanonicalization: header, bodyCanonicalization: body }
    : null;
}

function isCanonicalization(value: string): value is Canonicalization {
  return value === 'simple' || value === 'relaxed';
}

/** @returns null when absent, undefined when malformed */
function readNumber(value: unknown): number | null | undefined {
  if (value === undefined) return null;
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
