import { parseEmailAddress } from '@postrider/domain';
import { createTransport } from 'nodemailer';
import { attachmentParts } from './attachment-parts.ts';
import type { AddressedMessage } from './mail-provider.ts';

/** A message as it goes over the wire. */
export interface ComposedMessage {
  /** RFC 5321: who sends and who receives, bcc among them. */
  readonly envelope: { readonly from: string; readonly to: readonly string[] };
  /** The envelope's recipients by the field that names them; an address in several counts for the first. */
  readonly recipients: Record<'to' | 'cc' | 'bcc', string[]>;
  /** RFC 5322: CRLF line ends, no Bcc header. */
  readonly bytes: Buffer;
}

const composer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });

/** RFC 5322 A.1.3: what stands in `To` when it names nobody; some servers take a message without one for spam. */
const NOBODY_NAMED = 'undisclosed-recipients:;';

/** The RFC 5322 Message-ID, fixed by the email's id: a doubled hand-over can be recognised by it. */
export function messageIdOf(message: Pick<AddressedMessage, 'emailId' | 'from'>): string {
  const { address } = mailbox(message.from);
  return `<${message.emailId}@${address.slice(address.lastIndexOf('@') + 1).toLowerCase()}>`;
}

/** Writes the message in MIME. Nothing is fetched or read from disk, whatever the message holds. */
export async function composeMessage(message: AddressedMessage): Promise<ComposedMessage> {
  const recipients = recipientsByField(message);
  const to = [...recipients.to, ...recipients.cc, ...recipients.bcc];
  const envelope = { from: mailbox(message.from).address, to };
  const composed = await composer.sendMail({
    envelope,
    from: mailbox(message.from),
    to: message.to.length > 0 ? message.to.map(mailbox) : NOBODY_NAMED,
    cc: message.cc.map(mailbox),
    replyTo: message.replyTo.map(mailbox),
    subject: singleSpaced(message.subject),
    date: message.createdAt,
    messageId: messageIdOf(message),
    headers: headersOf(message).map(([key, value]) => ({ key, value: singleSpaced(value) })),
    ...(message.text === null ? {} : { text: message.text }),
    ...(message.html === null ? {} : { html: message.html }),
    attachments: attachmentParts(message.attachments),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  if (!Buffer.isBuffer(composed.message)) throw new Error('the composer did not answer with a buffer');
  return { envelope, recipients, bytes: composed.message };
}

function recipientsByField(message: AddressedMessage): ComposedMessage['recipients'] {
  const seen = new Set<string>();
  const addresses = (field: readonly string[]): string[] =>
    field.flatMap((text) => {
      const { address } = mailbox(text);
      if (seen.has(address)) return [];
      seen.add(address);
      return [address];
    });
  return { to: addresses(message.to), cc: addresses(message.cc), bcc: addresses(message.bcc) };
}

/** The customer's and ours, each once: RFC 8058 section 3.1 allows one of ours. */
function headersOf(message: AddressedMessage): [string, string][] {
  const ours = unsubscribeHeaders(message);
  const names = new Set(ours.map(([name]) => name.toLowerCase()));
  const theirs = Object.entries(message.headers).filter(([name]) => !names.has(name.toLowerCase()));
  return [...theirs, ...ours];
}

/**
 * RFC 8058 section 3.1. The two belong together, so the customer's own `List-Unsubscribe` replaces both; their
 * `List-Unsubscribe-Post` alone speaks of no URL of theirs, and gives way to ours.
 */
function unsubscribeHeaders({ headers, unsubscribeUrl }: AddressedMessage): [string, string][] {
  const own = Object.keys(headers).some((name) => name.toLowerCase() === 'list-unsubscribe');
  if (unsubscribeUrl === null || own) return [];
  return [
    ['List-Unsubscribe', `<${unsubscribeUrl}>`],
    ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
  ];
}

/** A header is folded at its spaces: a run of them could make a line of nothing else, which RFC 5322 3.2.2 forbids. */
function singleSpaced(text: string): string {
  return text.replaceAll(/ {2,}/g, ' ').trim();
}

/** An address in its parts, so that the composer quotes the name and parses nothing again. */
function mailbox(text: string): { name: string; address: string } {
  const parsed = parseEmailAddress(text);
  if (parsed === null) throw new Error('a stored message holds an address that is none');
  return { name: parsed.name ?? '', address: parsed.address };
}
