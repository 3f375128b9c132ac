import { domainToUnicode } from 'node:url';
import { parseEmailAddress, unquotedLocalPart } from './email-address.ts';
import { plainAddress } from './plain-address.ts';

/** No match begins behind a backslash. Otherwise each quote of `\"\"\"` could begin a long match. */
const QUOTED_LOCAL_PARTS = /(?<!\\)"(?:[^"\\]|\\.){1,998}"(?=@)/gu;

/** Matches a text when its last character may belong to a local part. */
const ENDS_AS_LOCAL_PART = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Nd}_.%+-]$/u;

/**
 * True when any text in a JSON value contains the address. The text may be the address, with or without a
 * name. It may also be a longer text with the address as a word, such as a mail server's diagnosis.
 *
 * @param address as `plainAddress` writes it.
 */
export function namesAddress(value: unknown, address: string): boolean {
  if (typeof value === 'string') return textNames(value, address);
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some((part) => namesAddress(part, address));
}

function textNames(text: string, address: string): boolean {
  const parsed = parseEmailAddress(text);
  if (parsed !== null) return plainAddress(parsed.address) === address;
  // A longer text may write `"bob"@b.example` for `bob@b.example`.
  const words = text.toLowerCase().normalize('NFC').replaceAll(QUOTED_LOCAL_PARTS, unquotedLocalPart);
  return hasWord(words, address) || hasWord(words, withUnicodeDomain(address));
}

function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    if (isWord(text, at, at + word.length)) return true;
  }
  return false;
}

/** A longer text may write `bücher.example` for `xn--bcher-kva.example`. */
function withUnicodeDomain(address: string): string {
  const domainAt = address.lastIndexOf('@') + 1;
  const domain = address.slice(domainAt);
  return `${address.slice(0, domainAt)}${domainToUnicode(domain) || domain}`;
}

/**
 * `bob@b.example` is not a word in `jim.bob@b.example`, `bob@b.example.com` or `"bob@b.example"@c.example`. A
 * full stop may follow a word. Chinese and other scripts without spaces may write a letter before a word.
 */
function isWord(text: string, from: number, to: number): boolean {
  const before = text.slice(Math.max(0, from - 2), from); // a letter may take two code units
  return !ENDS_AS_LOCAL_PART.test(before) && !/^(?:[\w-]|\.\w|"@)/.test(text.slice(to, to + 2));
}
