/**
 * `local@domain` or `Name <local@domain>`, as mail APIs accept it: strict enough that a header cannot be
 * injected and a typo is caught, not a full RFC 5322 grammar.
 */
export interface EmailAddress {
  readonly name: string | null;
  readonly address: string;
}

const ADDRESS =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$/;
const NAMED = /^\s*(?:"((?:[^"\\]|\\.)*)"|([^<>"]*?))\s*<([^<>]+)>\s*$/;

/** @returns null when `text` is no address. */
export function parseEmailAddress(text: string): EmailAddress | null {
  if (text.length > 998 || hasControlCharacter(text)) return null;
  const named = NAMED.exec(text);
  const address = (named?.[3] ?? text).trim();
  if (!isPlainAddress(address)) return null;
  const name = (named?.[1]?.replaceAll(/\\(.)/g, '$1') ?? named?.[2] ?? '').trim();
  return { name: name === '' ? null : name, address };
}

function isPlainAddress(address: string): boolean {
  const local = address.slice(0, address.lastIndexOf('@'));
  return ADDRESS.test(address) && !local.startsWith('.') && !local.endsWith('.') && !local.includes('..');
}

/** A control character would end a header line early: never allowed in one. */
export function hasControlCharacter(text: string): boolean {
  return /[\u0000-\u001f\u007f]/.test(text);
}
