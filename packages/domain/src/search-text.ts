import { asciiDomain } from './domain-name.ts';
import { parseEmailAddress } from './email-address.ts';
import { parseNamedId } from './ids.ts';
import type { NamedId } from './ids.ts';
import { plainAddress } from './plain-address.ts';

/** The kinds of text that support staff look up. */
export type SearchText =
  | ({ readonly kind: 'id' } & NamedId)
  /** As `plainAddress` writes it. */
  | { readonly kind: 'address'; readonly address: string }
  /** Without angle brackets. */
  | { readonly kind: 'messageId'; readonly messageId: string }
  /** In ASCII and lower case. */
  | { readonly kind: 'domain'; readonly domain: string }
  /** The `x-request-id` of a request, or a part of an account's name. */
  | { readonly kind: 'other'; readonly text: string };

/** A Message-ID has at most 998 bytes (RFC 5322 2.1.1). */
const TEXT_LENGTH_MAX = 1_000;

const QUOTED = /^["'\u201c\u2018](.*)["'\u201d\u2019]$/su;

/**
 * Reads the text of a search. White space and quotes around it do not count.
 *
 * @returns null for an empty or overlong text, or one with NUL, which Postgres refuses.
 */
export function parseSearchText(written: string): SearchText | null {
  const text = written.trim().replace(QUOTED, '$1').trim();
  if (text === '' || text.length > TEXT_LENGTH_MAX || text.includes('\0')) return null;
  const id = parseNamedId(text.toLowerCase());
  if (id !== null) return { kind: 'id', ...id };
  const [, inBrackets] = /^<([^<>\s]+)>$/.exec(text) ?? [];
  if (inBrackets !== undefined) return { kind: 'messageId', messageId: inBrackets };
  if (text.includes('@')) {
    const address = plainAddress(parseEmailAddress(text)?.address ?? text);
    return address === null ? { kind: 'messageId', messageId: text } : { kind: 'address', address };
  }
  const domain = text.includes('.') ? asciiDomain(text.replace(/\.$/, '')) : null;
  return domain === null ? { kind: 'other', text } : { kind: 'domain', domain };
}
