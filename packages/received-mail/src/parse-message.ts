import { answeredIds } from '@postrider/domain/message-ids';
import { agreedAuthors, readAuthors } from './authors.ts';
import { oneLine, shortLine, storable } from './clean-text.ts';
import { cutHeader } from './cut-header.ts';
import { HeaderFields } from './header-fields.ts';
import { isAutomatic } from './is-automatic.ts';
import { readMail, type MailFile } from './mail-reader.ts';
import { formatMailbox } from './mailbox.ts';
import { ownId } from './message-ids.ts';
import { nameByType } from './name-by-type.ts';
import type { ParsedMessage, ReceivedAttachment } from './parsed-message.ts';

const MEDIA_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/;

/**
 * Parses a message with mailparser. A hostile message takes seconds: the caller limits its time and memory,
 * as `MessageParser` does.
 *
 * @param raw RFC 5322, with LF or CRLF
 */
export async function parseMessage(raw: Buffer): Promise<ParsedMessage> {
  const { bytes, headerBytes, isCut } = cutHeader(raw);
  // `readAuthors` reads the authors that DMARC judges. Its library is not the one of `readMail`.
  const [mail, judged] = await Promise.all([readMail(bytes), readAuthors(bytes.subarray(0, headerBytes))]);
  const fields = new HeaderFields(mail.headerLines);
  const from = fields.mailboxes('from');
  const shownAddresses = from.map(({ address }) => address);
  return {
    ...idsOf(fields),
    from: from[0] === undefined ? '' : formatMailbox(from[0]),
    fromAddresses: isCut ? null : agreedAuthors(judged, shownAddresses), // null: the author is not known
    to: fields.mailboxes('to').map(formatMailbox),
    cc: fields.mailboxes('cc').map(formatMailbox),
    replyTo: fields.mailboxes('reply-to').map(formatMailbox),
    subject: fields.text('subject'),
    headers: fields.listed(),
    text: bodyText(mail.text),
    html: bodyText(mail.html),
    attachments: mail.files.map(attachmentOf),
    automatic: isAutomatic(fields),
    complete: !isCut && mail.complete,
  };
}

function idsOf(fields: HeaderFields): Pick<ParsedMessage, 'messageId' | 'inReplyTo' | 'references'> {
  // `texts` decodes: Python's EmailMessage writes long ids as encoded words, which RFC 2047 forbids here.
  const references = fields.texts('references').slice(0, 1);
  return {
    messageId: fields.texts('message-id').flatMap((field) => ownId(field) ?? [])[0] ?? null,
    ...answeredIds(fields.texts('in-reply-to'), references),
  };
}

/** @returns null for white space alone */
function bodyText(text: string): string | null {
  return text.trim() === '' ? null : storable(text);
}

function attachmentOf({ filename, contentType, cid, content }: MailFile): ReceivedAttachment {
  return {
    filename: writtenName(filename) ?? nameByType(contentType, content),
    contentType: MEDIA_TYPE.test(contentType) ? contentType : 'application/octet-stream',
    contentId: shortLine(cid) || null,
    content,
  };
}

/** A name that looks like a path is cut to its last part. */
function writtenName(written: string): string | null {
  const path = oneLine(written);
  const name = shortLine(path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1));
  return name === '' || name === '.' || name === '..' ? null : name;
}
