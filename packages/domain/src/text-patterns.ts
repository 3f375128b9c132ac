import { z } from 'zod';

/** The characters that `hasControlCharacter` finds. */
const CONTROL = '\\x00-\\x1f\\x7f';
/** Characters that an unquoted local part cannot have, as written in a character class. */
const NOT_LOCAL = '\\s"(),:;<>@\\[\\\\\\]\\x00-\\x1f\\x7f-\\x9f';
/** An encoded word (RFC 2047) begins with `=?`. */
const NO_ENCODED_WORD = '(?![^@]*=\\?)';
/** 200 characters take at most 800 bytes. `parseEmailAddress` accepts 998 bytes for the whole text. */
const LOCAL = `${NO_ENCODED_WORD}[^${NOT_LOCAL}]{1,200}`;

/** The last label begins with a letter, so no IPv4 address matches. */
const TOP = '[A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?';
const LABEL = '[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?';
const HOST = `(?:${LABEL}\\.)+${TOP}`;
const MAIL_HOST = `(?:[0-9A-Za-z_](?:[0-9A-Za-z_-]{0,61}[0-9A-Za-z_])?\\.)+${TOP}`;
/** The longest domain name, in characters (RFC 1035 2.3.4). */
export const DOMAIN_LENGTH = 253;
/** Limits a host behind other text. A host alone has `maxLength` instead of this look-ahead. */
const HOST_LENGTH = `(?=.{1,${DOMAIN_LENGTH}}$)`;

const NAME = `(?:[^@<>"${CONTROL}]*(?:@[^,;<>"${CONTROL}]*)?|"[^"\\\\${CONTROL}]*" ?)`;
const BRACKETED = `${NAME}<${LOCAL}@(?=.{1,254}$)${MAIL_HOST}>`;

const BASE = "[0-9A-Za-z!#$%&'*/=?^_`{|}~-]+";
const BASE_LENGTH = '(?=[^@+]{1,64}(?:[@+]|$))';
/** `*` alone means a whole domain in a routing rule. */
const INBOUND_LOCAL = `${NO_ENCODED_WORD}(?!\\*(?:[@+]|$))${BASE_LENGTH}${BASE}(?:\\.${BASE})*(?:\\+[^${NOT_LOCAL}]{0,64})?`;
const INBOUND = `${INBOUND_LOCAL}@${HOST_LENGTH}${MAIL_HOST}`;

const BYTE = '(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])';
/** A label that begins with `xn--` may be invalid Punycode, which `parseEndpoint` refuses. */
const NO_PUNYCODE = '(?![Xx][Nn]--)';
const URL_NAME = `(?:${NO_PUNYCODE}${LABEL}\\.)*${NO_PUNYCODE}${TOP}`;
const URL_HOST = `(?=[^/:#]{1,253}(?:[/:#]|$))(?:${URL_NAME}|${BYTE}(?:\\.${BYTE}){3})`;
/** Normalising a URL keeps these characters. It escapes others, so the URL could exceed its length limit. */
const URL_CHARACTERS = '[0-9A-Za-z._~!$&()*+,;=:@/?%-]*';
const PORT = '(?::(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}))?';

const MEDIA_NAME = '[0-9A-Za-z][0-9A-Za-z_!#$&^.+-]{0,126}';

/** Postgres reads the years 0001 to 9999. An offset could move 0001 or 9999 out of this range. */
const YEAR = '(?!000[01]|9999)';
const DATE = z.regexes.date.source.slice(1, -1);
const TIME = z.regexes.datetime({ offset: true }).source.slice(1, -1);

/**
 * The patterns of the OpenAPI document (JSON Schema, ECMA-262). The parser of a field accepts every text that
 * the pattern matches. `patterns.test.ts` of the API draws random texts to check this. A parser also accepts
 * rare texts that no pattern can distinguish from faulty ones, such as domains in Unicode. The patterns need
 * no flags. They have no `\p`, and no unescaped `[` in a class: Java and Rust read these differently. Some
 * patterns look ahead, which the engines RE2 and Rust's `regex` cannot.
 */
export const PATTERNS = {
  /** One line of text. It may be empty. */
  line: `^[^${CONTROL}]*$`,
  /** One line of text that is not blank. */
  shownLine: `^[^${CONTROL}]*[^\\s${CONTROL}][^${CONTROL}]*$`,
  /** Ids in angle brackets. Each fits into a line of RFC 5322 2.1.1, behind a space. */
  references: '^ *<[!-;=?-~]{1,995}>(?: +<[!-;=?-~]{1,995}>)* *$',
  /** Text that Postgres can store. */
  text: '^[^\\x00]*$',
  /** For `asciiDomain`, with `DOMAIN_LENGTH`. */
  domain: `^${HOST}$`,
  /** For `mailDomain`, with `DOMAIN_LENGTH`. */
  mailDomain: `^${MAIL_HOST}$`,
  /** For `plainAddress`. */
  plainAddress: `^${LOCAL}@${HOST_LENGTH}${MAIL_HOST}$`,
  /** For `parseEmailAddress`. */
  address: `^(?:${LOCAL}@${HOST_LENGTH}${MAIL_HOST}|${BRACKETED})$`,
  /** For `inboundAddress`. */
  inboundAddress: `^${INBOUND}$`,
  /** For the local part of an `inboundAddress`. */
  inboundName: `^${INBOUND_LOCAL}$`,
  /** For `parseInboundMatch`. */
  inboundMatch: `^(?:\\*@${HOST_LENGTH}${HOST}|${INBOUND})$`,
  /** For `senderPattern`. */
  sender: `^(?:[^${NOT_LOCAL}]{1,64}@)?${HOST_LENGTH}${HOST}$`,
  /** For `parseEndpoint`. */
  endpoint: `^[Hh][Tt][Tt][Pp][Ss]://${URL_HOST}${PORT}(?:/${URL_CHARACTERS})?(?:#${URL_CHARACTERS})?$`,
  /** For `isBase64`. */
  base64: '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$',
  /** For `isMediaType`. */
  mediaType: `^${MEDIA_NAME}/${MEDIA_NAME}(?: *;[ -~]*)?$`,
  /** A cursor that an answer gave. */
  cursor: '^[0-9A-Za-z_-]+$',
  /** For `parseIsoTime`. */
  isoTime: `^${YEAR}${TIME}$`,
  /** For `parseIsoMoment`. */
  isoMoment: `^${YEAR}(?:${DATE}|${TIME})$`,
} as const;

/** Characters of an address in a schema, display name included. RFC 5321 4.5.3.1 allows 320 without it. */
export const ADDRESS_LENGTH = 320;

/** A list with commas between the entries. @param entry a pattern without anchors */
export function listPattern(entry: string, entriesMax: number): string {
  return `^(?:${entry})(?:,(?:${entry})){0,${entriesMax - 1}}$`;
}

/** A list of words with commas between them. */
export function wordsPattern(entriesMax: number): string {
  return listPattern(`[^,${CONTROL}]*`, entriesMax);
}

/**
 * A header name (RFC 9110 5.6.2) of at most 76 characters that is not reserved.
 *
 * @param first the characters that may come first, as written in a character class
 * @param names reserved names, in any case
 * @param prefixes of other reserved names, in any case
 */
export function headerNamePattern(
  first: string,
  names: readonly string[],
  prefixes: readonly string[],
): string {
  const reserved = [`(?:${names.map(inAnyCase).join('|')})$`, ...prefixes.map(inAnyCase)];
  return `^(?!${reserved.join('|')})[${first}][!#$%&'*+.^_\`|~0-9A-Za-z-]{0,75}$`;
}

/** @param name in lower case */
export function inAnyCase(name: string): string {
  return name.replaceAll(/[a-z]/g, (letter) => `[${letter.toUpperCase()}${letter}]`);
}
