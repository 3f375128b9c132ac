import { domainToASCII } from 'node:url';
import { addressParser, decodeWords } from 'postal-mime';
import { oneLine, rawText, shortLine } from './clean-text.ts';
import type { HeaderField } from './header-block.ts';
import { GROUP_DEPTH_MAX, LINE_CHARACTERS_MAX, WORD_DEPTH_MAX } from './limits.ts';

export interface Mailbox {
  /** The decoded name; empty when there is none. */
  readonly name: string;
  readonly address: string;
}

export interface Mailboxes {
  readonly mailboxes: readonly Mailbox[];
  /**
   * False when a mailbox was left out: its address is longer than a line, or its groups or encoded words are
   * nested too deep.
   */
  readonly complete: boolean;
}

/** Words that need no quotes, with single spaces between (RFC 5322 3.2.3, RFC 6532). */
const ATOMS = /^[\w!#$%&'*+/=?^`{|}~\u0080-\uffff-]+(?: [\w!#$%&'*+/=?^`{|}~\u0080-\uffff-]+)*$/;
const DOT_ATOM = /^[^\s"(),:;<>@[\\\]]+$/;
const QUOTED = /^"(?:[^"\\]|\\.)*"$/;
/**
 * Replaces `?`, so that the parser decodes no encoded word. `rawText` leaves no control characters, so it is
 * free.
 */
const HIDDEN_MARK = '\u007f';

/**
 * Reads the mailboxes from all these fields, groups flattened. Text without `@` is no address and is left
 * out.
 */
export function mailboxesIn(fields: readonly HeaderField[]): Mailboxes {
  const texts = fields.map((field) => textsRead(addressText(field)));
  const written = texts
    .flatMap(([text = '']) => addressParser(text, { flatten: true }))
    .map(({ name, address = '' }) => ({ name, address: withoutRoute(address) }))
    .filter(({ address }) => address.includes('@'));
  const kept = written.filter(({ address }) => address.length <= LINE_CHARACTERS_MAX);
  return {
    mailboxes: kept.map(({ name, address }) => ({ name: shortLine(name), address: plainAddress(address) })),
    complete: kept.length === written.length && texts.every(isReadWhole),
  };
}

/**
 * Reads the addresses from header fields, exactly as a message record shows them. DMARC judges the authors
 * that this function returns.
 *
 * @param values everything after the colon of each field, still folded
 * @returns each address once; null when an address was left out
 */
export function addressesIn(values: readonly Buffer[]): string[] | null {
  const fields = values.map((value) => ({
    name: '',
    value: value.toString('latin1').replaceAll(/\r?\n/g, ''),
    cut: false,
  }));
  const { mailboxes, complete } = mailboxesIn(fields);
  return complete ? [...new Set(mailboxes.map(({ address }) => address))] : null;
}

/** Writes `Name <address>`, with quotes around the name where RFC 5322 wants them, or the bare address. */
export function formatMailbox({ name, address }: Mailbox): string {
  if (name === '') return address;
  return `${needsQuotes(name) ? quoted(name) : name} <${address}>`;
}

/** The form that block lists compare: lower case, with the domain in ASCII where possible. */
export function comparableAddress({ address }: Mailbox): string {
  const domainAt = address.lastIndexOf('@') + 1;
  const domain = address.slice(domainAt).toLowerCase();
  return `${address.slice(0, domainAt).toLowerCase()}${domainToASCII(domain) || domain}`;
}

/** The last address of a cut field may be incomplete, so it is dropped. */
function addressText({ value, cut }: HeaderField): string {
  const whole = cut ? value.slice(0, Math.max(0, value.lastIndexOf(','))) : value;
  return rawText(whole);
}

/**
 * Collects the texts to parse: the text itself, then the decoded text of each encoded word that has no
 * address beside it. The parser must find these words: it takes them from the text without quotes and
 * comments.
 *
 * @returns an empty list when encoded words are nested deeper than `WORD_DEPTH_MAX`
 */
function textsRead(text: string, depth = 0): string[] {
  if (!text.includes('?')) return [text];
  if (depth === WORD_DEPTH_MAX || text.includes(HIDDEN_MARK)) return [];
  const inWords = addressParser(text.replaceAll('?', HIDDEN_MARK), { flatten: true })
    .filter(({ name, address }) => name === '' || address === '')
    .map(({ name, address = '' }) => `${name}${address}`.replaceAll(HIDDEN_MARK, '?'))
    .filter((words) => decodeWords(words) !== words)
    .map((words) => textsRead(decodeWords(words), depth + 1));
  return inWords.some(({ length }) => length === 0) ? [] : [text, ...inWords.flat()];
}

function isReadWhole(texts: readonly string[]): boolean {
  return texts.length > 0 && !texts.some(isTooDeep);
}

/** Counts colons. A colon that begins no group makes this too strict, but no sender writes so many. */
function isTooDeep(text: string): boolean {
  return text.split(':', GROUP_DEPTH_MAX + 2).length > GROUP_DEPTH_MAX + 1;
}

/** Removes the source route of RFC 5322 4.4. */
function withoutRoute(text: string): string {
  return oneLine(text).replace(/^@[^:]*:/, '');
}

/** The parser removes the quotes of a local part such as `"john doe"`. This restores them. */
function plainAddress(address: string): string {
  const at = address.lastIndexOf('@');
  const local = address.slice(0, at);
  if (at < 1 || DOT_ATOM.test(local) || QUOTED.test(local)) return address.replaceAll(/[<>]/g, '');
  return `${quoted(local)}${address.slice(at).replaceAll(/[\s<>]/g, '')}`;
}

/** A reader would decode a name with `=?` a second time, so it needs quotes. */
function needsQuotes(name: string): boolean {
  return !ATOMS.test(name) || name.includes('=?');
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}
