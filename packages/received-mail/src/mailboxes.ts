import { domainToASCII } from 'node:url';
import { addressParser, decodeWords } from 'postal-mime';
import { oneLine, rawText, shortLine } from './clean-text.ts';
import type { HeaderField } from './header-block.ts';
import { GROUP_DEPTH_MAX, LINE_CHARACTERS_MAX, WORD_DEPTH_MAX } from './limits.ts';

export interface Mailbox {
  /** Decoded; empty when there is none. */
  readonly name: string;
  readonly address: string;
}

export interface Mailboxes {
  readonly mailboxes: readonly Mailbox[];
  /** False when one was left out: its address is longer than a line, or it is too deep in groups or words. */
  readonly complete: boolean;
}

/** RFC 5322 3.2.3 and RFC 6532: words that stand without quotes, a single space between them. */
const ATOMS = /^[\w!#$%&'*+/=?^`{|}~\u0080-\uffff-]+(?: [\w!#$%&'*+/=?^`{|}~\u0080-\uffff-]+)*$/;
const DOT_ATOM = /^[^\s"(),:;<>@[\\\]]+$/;
const QUOTED = /^"(?:[^"\\]|\\.)*"$/;
/** Stands for `?`, so that the parser decodes no word. `rawText` leaves no control characters. */
const HIDDEN_MARK = '\u007f';

/**
 * The mailboxes of all these fields, groups flattened. Whatever has no `@` in it is no address and is left
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
 * The addresses of a header's fields, as a record shows them: what judges their authors reads them by this function, too.
 *
 * @param values everything behind the colon of each field, folded as it came
 * @returns each address once; null when one was left out
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

/** `Name <address>`, the name quoted where RFC 5322 wants it, or the bare address. */
export function formatMailbox({ name, address }: Mailbox): string {
  if (name === '') return address;
  return `${needsQuotes(name) ? quoted(name) : name} <${address}>`;
}

/** The form in which block lists compare: lower case, domain in ASCII where it is one. */
export function comparableAddress({ address }: Mailbox): string {
  const domainAt = address.lastIndexOf('@') + 1;
  const domain = address.slice(domainAt).toLowerCase();
  return `${address.slice(0, domainAt).toLowerCase()}${domainToASCII(domain) || domain}`;
}

/** Of a field that was cut, the last address may be half of one. */
function addressText({ value, cut }: HeaderField): string {
  const whole = cut ? value.slice(0, Math.max(0, value.lastIndexOf(','))) : value;
  return rawText(whole);
}

/**
 * What the parser reads: the text, then what encoded words without an address beside them say. The parser has
 * to find these words, since it takes them from what quotes and comments leave of the text.
 *
 * @returns nothing when words stand in more than `WORD_DEPTH_MAX` words
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

/** A colon begins a group, or stands in another place: then this is too strict, and no sender writes so many. */
function isTooDeep(text: string): boolean {
  return text.split(':', GROUP_DEPTH_MAX + 2).length > GROUP_DEPTH_MAX + 1;
}

/** The route of RFC 5322 4.4. */
function withoutRoute(text: string): string {
  return oneLine(text).replace(/^@[^:]*:/, '');
}

/** The parser takes the quotes off a local part such as `"john doe"`. */
function plainAddress(address: string): string {
  const at = address.lastIndexOf('@');
  const local = address.slice(0, at);
  if (at < 1 || DOT_ATOM.test(local) || QUOTED.test(local)) return address.replaceAll(/[<>]/g, '');
  return `${quoted(local)}${address.slice(at).replaceAll(/[\s<>]/g, '')}`;
}

/** A name with `=?` in it would be decoded once more by whoever reads it. */
function needsQuotes(name: string): boolean {
  return !ATOMS.test(name) || name.includes('=?');
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}
