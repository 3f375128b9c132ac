import { domainToASCII } from 'node:url';
import { addressParser } from 'postal-mime';
import { oneLine, rawText, shortLine } from './clean-text.ts';
import type { HeaderField } from './header-block.ts';
import { ADDRESSES_MAX, LINE_CHARACTERS_MAX } from './limits.ts';

export interface Mailbox {
  /** Decoded; empty when there is none. */
  readonly name: string;
  readonly address: string;
}

/** RFC 5322 3.2.3 and RFC 6532: words that stand without quotes, a single space between them. */
const ATOMS = /^[\w!#$%&'*+/=?^`{|}~\u0080-\uffff-]+(?: [\w!#$%&'*+/=?^`{|}~\u0080-\uffff-]+)*$/;
const DOT_ATOM = /^[^\s"(),:;<>@[\\\]]+$/;
const QUOTED = /^"(?:[^"\\]|\\.)*"$/;

/**
 * The mailboxes of all these fields, groups flattened. Whatever has no `@` in it is no address and is left
 * out.
 */
export function mailboxesIn(fields: readonly HeaderField[]): {
  mailboxes: readonly Mailbox[];
  complete: boolean;
} {
  const mailboxes = fields
    .flatMap(({ value, cut }) => addressParser(addressText(value, cut), { flatten: true }))
    .map(({ name, address = '' }) => ({ name: shortLine(name), address: plainAddress(address) }))
    .filter(({ address }) => address.includes('@'));
  return { mailboxes: mailboxes.slice(0, ADDRESSES_MAX), complete: mailboxes.length <= ADDRESSES_MAX };
}

/**
 * The addresses of a header's fields, as a record shows them: what judges their authors reads them by this function, too.
 *
 * @param values everything behind the colon of each field, folded as it came
 */
export function addressesIn(values: readonly Buffer[]): string[] {
  const fields = values.map((value) => ({
    name: '',
    value: value.toString('latin1').replaceAll(/\r?\n/g, ''),
    cut: false,
  }));
  return mailboxesIn(fields).mailboxes.map(({ address }) => address);
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
function addressText(value: string, cut: boolean): string {
  const whole = cut ? value.slice(0, Math.max(0, value.lastIndexOf(','))) : value;
  return rawText(whole);
}

/** Without the route of RFC 5322 4.4. The parser takes the quotes off a local part such as `"john doe"`. */
function plainAddress(text: string): string {
  const address = oneLine(text).replace(/^@[^:]*:/, '');
  if (address.length > LINE_CHARACTERS_MAX) return '';
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
