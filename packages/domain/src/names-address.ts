import { parseEmailAddress } from './email-address.ts';
import { plainAddress } from './plain-address.ts';

/**
 * Whether a JSON value names an address in any of its texts: as an address, with or without a name, or as a word of a
 * longer text, such as a mail server's diagnosis.
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
  const lower = text.toLowerCase();
  for (let at = lower.indexOf(address); at !== -1; at = lower.indexOf(address, at + 1)) {
    if (isWord(lower, at, at + address.length)) return true;
  }
  return false;
}

/** `bob@b.example` is no word of `jim.bob@b.example`, nor of `bob@b.example.com`; a full stop may end a sentence. */
function isWord(text: string, from: number, to: number): boolean {
  return !/[\w.%+-]$/.test(text.slice(0, from)) && !/^(?:[\w-]|\.\w)/.test(text.slice(to));
}
