import { parseEmailAddress } from './email-address.ts';
import { plainAddress } from './plain-address.ts';

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
  const words = unquoted(text.toLowerCase().normalize('NFC'));
  const sought = unquoted(address);
  for (let at = words.indexOf(sought); at !== -1; at = words.indexOf(sought, at + 1)) {
    if (isWord(words, at, at + sought.length)) return true;
  }
  return false;
}

/** A longer text may write `"bob"@b.example` for `bob@b.example`. */
function unquoted(text: string): string {
  return text.replaceAll(/["\\]/g, '');
}

/**
 * `bob@b.example` is not a word in `jim.bob@b.example` or `bob@b.example.com`. A full stop may follow a word.
 */
function isWord(text: string, from: number, to: number): boolean {
  return !/[\w.%+-]$/.test(text.slice(0, from)) && !/^(?:[\w-]|\.\w)/.test(text.slice(to));
}
