import { isUtf8 } from 'node:buffer';
import libmime from 'libmime';
import { parseAddressHeader } from 'mailparser';
import type { HeaderLines } from 'mailparser';
import { oneLine } from './clean-text.ts';
import { LINE_CHARACTERS_MAX } from './limits.ts';
import type { Mailbox } from './mailbox.ts';
import type { ReceivedHeader } from './parsed-message.ts';

/** An encoded word (RFC 2047) with the encoding Q. Old programs leave bytes above 0x7f in it. */
const Q_WORD = /=\?[^?\s]+\?q\?[^?\s]*\?=/gi;

interface Field {
  /** The name in lower case. */
  readonly key: string;
  /** The name as written. */
  readonly name: string;
  /** Unfolded, with encoded words. */
  readonly value: string;
}

/** The header of a message. mailparser finds the fields; this class decodes their text. */
export class HeaderFields {
  readonly #fields: readonly Field[];

  constructor(lines: HeaderLines) {
    this.#fields = lines.filter(({ key }) => key !== '').map(readField);
  }

  /** The values of the fields with these names, unfolded, with encoded words. @param keys in lower case */
  named(...keys: readonly string[]): string[] {
    return this.#fields.filter(({ key }) => keys.includes(key)).map(({ value }) => value);
  }

  /** The values of all fields with this name, decoded. */
  texts(key: string): string[] {
    return this.named(key).map(decoded);
  }

  /** The value of the first field with this name, decoded. */
  text(key: string): string | null {
    const [value] = this.named(key);
    return value === undefined ? null : decoded(value);
  }

  /** The mailboxes of all fields with this name, groups flattened. Text without an address is left out. */
  mailboxes(key: string): Mailbox[] {
    const { value } = parseAddressHeader(this.named(key), { flatten: true, decodePunycode: false });
    return value
      .map(({ name, address = '' }) => ({ name, address: oneLine(address) }))
      .filter(({ address }) => address !== '' && address.length <= LINE_CHARACTERS_MAX);
  }

  /** All fields in the order of the message, decoded. */
  listed(): ReceivedHeader[] {
    return this.#fields.map(({ name, value }) => ({ name, value: decoded(value) }));
  }
}

/**
 * `line` has one character per byte, as mailparser gives it. Old programs send ISO 8859-1, where RFC 6532
 * wants UTF-8.
 */
function readField({ key, line }: HeaderLines[number]): Field {
  const encoded = line.replaceAll(Q_WORD, (word) => word.replaceAll(/[\x80-\xff]/g, escaped));
  const bytes = Buffer.from(encoded, 'latin1');
  const text = isUtf8(bytes) ? bytes.toString() : encoded;
  const colon = text.indexOf(':');
  return { key, name: oneLine(text.slice(0, colon)), value: text.slice(colon + 1).replaceAll(/\r?\n/g, '') };
}

/** Escapes a byte as RFC 2047 4.2 does, so it is read in the charset of its word, not of the field. */
function escaped(byte: string): string {
  return `=${byte.charCodeAt(0).toString(16).toUpperCase()}`;
}

function decoded(value: string): string {
  return oneLine(libmime.decodeWords(value));
}
