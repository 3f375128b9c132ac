import { parseEmailAddress } from '@postrider/domain';
import { createTransport } from 'nodemailer';
import type { OutgoingMessage } from './mail-provider.ts';

/** A message as it goes over the wire. */
export interface ComposedMessage {
  /** RFC 5321: who sends and who receives, bcc among them. */
  readonly envelope: { readonly from: string; readonly to: readonly string[] };
  /** RFC 5322: CRLF line ends, no Bcc header. */
  readonly bytes: Buffer;
}

const composer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });

/** The RFC 5322 Message-ID, fixed by the email's id: a doubled hand-over can be recognised by it. */
export function messageIdOf(message: Pick<OutgoingMessage, 'emailId' | 'from'>): string {
  const { address } = mailbox(message.from);
  return `<${message.emailId}@${address.slice(address.lastIndexOf('@') + 1).toLowerCase()}>`;
}

/** Writes the message in MIME. Nothing is fetched or read from disk, whatever the message holds. */
export async function composeMessage(message: OutgoingMessage): Promise<ComposedMessage> {
  const recipients = [...message.to, ...message.cc, ...message.bcc].map((text) => mailbox(text).address);
  const envelope = { from: mailbox(message.from).address, to: [...new Set(recipients)] };
  const composed = await composer.sendMail({
    envelope,
    from: mailbox(message.from),
    to: message.to.map(mailbox),
    cc: message.cc.map(mailbox),
    replyTo: message.replyTo.map(mailbox),
    subject: singleSpaced(message.subject),
    date: message.createdAt,
    messageId: messageIdOf(message),
    headers: Object.entries(message.headers).map(([key, value]) => ({ key, value: singleSpaced(value) })),
    ...(message.text === null ? {} : { text: message.text }),
    ...(message.html === null ? {} : { html: message.html }),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  if (!Buffer.isBuffer(composed.message)) throw new Error('the composer did not answer with a buffer');
  return { envelope, bytes: composed.message };
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
