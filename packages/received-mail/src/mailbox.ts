import { domainToASCII } from 'node:url';
import { shortLine } from './clean-text.ts';

export interface Mailbox {
  /** The decoded name; empty when there is none. */
  readonly name: string;
  readonly address: string;
}

/** Words that need no quotes, with single spaces between (RFC 5322 3.2.3, RFC 6532). */
const ATOMS = /^[\w!#$%&'*+/=?^`{|}~\u0080-\uffff-]+(?: [\w!#$%&'*+/=?^`{|}~\u0080-\uffff-]+)*$/;

/** Writes `Name <address>`, with quotes around the name where RFC 5322 wants them, or the bare address. */
export function formatMailbox({ name, address }: Mailbox): string {
  const shown = shortLine(name);
  if (shown === '') return address;
  return `${needsQuotes(shown) ? quoted(shown) : shown} <${address}>`;
}

/** The form that block lists compare: lower case, with the domain in ASCII where possible. */
export function comparableAddress(address: string): string {
  const domainAt = address.lastIndexOf('@') + 1;
  const domain = address.slice(domainAt).toLowerCase();
  return `${address.slice(0, domainAt).toLowerCase()}${domainToASCII(domain) || domain}`;
}

/** A mail program would decode a name with `=?` a second time, so such a name needs quotes. */
function needsQuotes(name: string): boolean {
  return !ATOMS.test(name) || name.includes('=?');
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}
