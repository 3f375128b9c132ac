import { parseEmailAddress, plainAddress, plainAddresses, senderDomain } from '@postrider/domain';
import type { ProviderResult } from '@postrider/domain';
import { createTransport } from 'nodemailer';
import { attachmentParts } from './attachment-parts.ts';
import type { AddressedMessage } from './mail-provider.ts';

/** A message in the form that is sent. */
export interface ComposedMessage {
  /** Sender and recipients of RFC 5321, bcc included. */
  readonly envelope: { readonly from: string; readonly to: readonly string[] };
  /** The envelope's recipients by field. An address in several fields counts for the first. */
  readonly recipients: Record<'to' | 'cc' | 'bcc', string[]>;
  /** RFC 5322: CRLF line ends, no Bcc header. */
  readonly bytes: Buffer;
}

const composer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });

const CR = 0x0d;
const LF = 0x0a;
/** A line has at most 998 octets (RFC 5322 2.1.1), with the header's name and quotes. */
const NAME_WORD_LENGTH_MAX = 970;
/** The value of an empty `To` (RFC 5322 A.1.3). Some servers treat a message without `To` as spam. */
const UNDISCLOSED_RECIPIENTS = 'undisclosed-recipients:;';

/**
 * The RFC 5322 Message-ID, derived from the email's id. When a message is sent twice, both copies have the
 * same Message-ID.
 */
export function messageIdOf(message: Pick<AddressedMessage, 'emailId' | 'from'>): string {
  return `<${message.emailId}@${senderDomain(message.from)}>`;
}

/**
 * Composes the message and sends it. A message that cannot be composed is refused: the next attempt would
 * fail in the same way.
 */
export async function withComposed(
  message: AddressedMessage,
  send: (composed: ComposedMessage) => Promise<ProviderResult>,
): Promise<ProviderResult> {
  let composed: ComposedMessage;
  try {
    composed = await composeMessage(message);
  } catch (error) {
    const code = (error as Error).message;
    return { kind: 'refused', error: 'the message cannot be composed', code, notAsked: true };
  }
  return send(composed);
}

/** Writes the message in MIME. It never fetches a URL or reads a file that the message names. */
export async function composeMessage(message: AddressedMessage): Promise<ComposedMessage> {
  const recipients = recipientsByField(message);
  const to = [...recipients.to, ...recipients.cc, ...recipients.bcc];
  const envelope = { from: mailbox(message.from).address, to };
  const composed = await composer.sendMail({
    envelope,
    from: mailbox(message.from),
    to: message.to.length > 0 ? message.to.map(mailbox) : UNDISCLOSED_RECIPIENTS,
    cc: message.cc.map(mailbox),
    replyTo: message.replyTo.map(mailbox),
    subject: singleSpaced(message.subject),
    date: message.createdAt,
    messageId: messageIdOf(message),
    headers: headersOf(message).map(([key, value]) => ({ key, value: singleSpaced(value) })),
    ...(message.text === null ? {} : { text: withCrlf(message.text) }),
    ...(message.html === null ? {} : { html: withCrlf(message.html) }),
    attachments: attachmentParts(message.attachments),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  if (!Buffer.isBuffer(composed.message)) throw new Error('the composer did not answer with a buffer');
  return { envelope, recipients, bytes: composed.message };
}

/** `message.only` holds the recipients that did not get the message yet. Null: all recipients. */
function recipientsByField(message: AddressedMessage): ComposedMessage['recipients'] {
  const only = message.only === null ? null : new Set(plainAddresses(message.only));
  const seen = new Set<string>();
  const addresses = (field: readonly string[]): string[] =>
    field.flatMap((text) => {
      const { address } = mailbox(text);
      const plain = plainAddress(address) ?? address;
      if (seen.has(plain) || only?.has(plain) === false) return [];
      seen.add(plain);
      return [address];
    });
  return { to: addresses(message.to), cc: addresses(message.cc), bcc: addresses(message.bcc) };
}

/** The customer's headers and ours, each once. RFC 8058 section 3.1 forbids a second one of ours. */
function headersOf(message: AddressedMessage): [string, string][] {
  const ours = unsubscribeHeaders(message);
  const names = new Set(ours.map(([name]) => name.toLowerCase()));
  const theirs = Object.entries(message.headers).filter(([name]) => !names.has(name.toLowerCase()));
  return [...theirs, ...ours];
}

/**
 * The two headers of RFC 8058 section 3.1 belong together. So the customer's own `List-Unsubscribe` replaces
 * both. A `List-Unsubscribe-Post` alone names no URL: ours replaces it.
 */
function unsubscribeHeaders({ headers, unsubscribeUrl }: AddressedMessage): [string, string][] {
  const customerHasOne = Object.keys(headers).some((name) => name.toLowerCase() === 'list-unsubscribe');
  if (unsubscribeUrl === null || customerHasOne) return [];
  return [
    ['List-Unsubscribe', `<${unsubscribeUrl}>`],
    ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
  ];
}

/**
 * Writes each line end as CRLF. In mail, a lone CR or LF is no line end (RFC 5322 2.3): servers refuse it, or
 * read it in different ways.
 *
 * It works on bytes, because `replaceAll` keeps an object for each match: 250 MiB for 5 MiB of LF.
 */
function withCrlf(text: string): string {
  if (!/\r(?!\n)|(?<!\r)\n/.test(text)) return text;
  const bytes = Buffer.from(text);
  const written = Buffer.allocUnsafe(2 * bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === LF && bytes[at - 1] === CR) continue;
    if (byte === CR || byte === LF) {
      written[length] = CR;
      length += 1;
    }
    written[length] = byte === CR ? LF : byte;
    length += 1;
  }
  return written.toString('utf8', 0, length);
}

/** Headers are folded at spaces. A run of spaces could become a blank line, which RFC 5322 3.2.2 forbids. */
function singleSpaced(text: string): string {
  return text.replaceAll(/ {2,}/g, ' ').trim();
}

/** Returns the name, or '' when a word is too long for a header line. Names are folded at spaces. */
function foldableName(name: string): string {
  // The composer escapes quotes and backslashes, so a word with them becomes longer.
  const words = name.replaceAll(/["\\]/g, '\\$&').split(' ');
  return words.every(({ length }) => length <= NAME_WORD_LENGTH_MAX) ? name : '';
}

/** Splits an address, so that the composer quotes the name and does not parse the text again. */
function mailbox(text: string): { name: string; address: string } {
  const parsed = parseEmailAddress(text);
  if (parsed === null) throw new Error('a stored message holds an invalid address');
  return { name: foldableName(parsed.name ?? ''), address: parsed.address };
}
