import { agreedAuthors, readAuthors } from './authors.ts';
import { oneLine, shortLine, storable } from './clean-text.ts';
import { cutHeader } from './cut-header.ts';
import { HeaderFields } from './header-fields.ts';
import { isAutomatic } from './is-automatic.ts';
import { readMail, type MailFile } from './mail-reader.ts';
import { formatMailbox } from './mailbox.ts';
import { idsIn, newestIds, ownId } from './message-ids.ts';
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
  const [mail, written] = await Promise.all([readMail(bytes), readAuthors(bytes.subarray(0, headerBytes))]);
  const fields = new HeaderFields(mail.headerLines);
  const from = fields.mailboxes('from');
  return {
    ...idsOf(fields),
    from: from.slice(0, 1).map(formatMailbox).join(''),
    fromAddresses: isCut
      ? null
      : agreedAuthors(
          written,
          from.map(({ address }) => address),
        ),
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

/** Without References, the ids of In-Reply-To take their place (RFC 5322 3.6.4). */
function idsOf(fields: HeaderFields): Pick<ParsedMessage, 'messageId' | 'inReplyTo' | 'references'> {
  const answered = fields.named('in-reply-to').flatMap(idsIn);
  const references = fields.named('references').slice(0, 1).flatMap(idsIn);
  const several = answered.length > 1 ? answered : [];
  return {
    messageId: fields.named('message-id').flatMap((field) => ownId(field) ?? [])[0] ?? null,
    // The old form `Bob <bob@x> message <id@x>` has the id at its end.
    inReplyTo: answered.at(-1) ?? null,
    references: newestIds(references.length > 0 ? references : several),
  };
}

/** @returns null for white space alone */
function bodyText(text: string): string | null {
  return text.trim() === '' ? null : storable(text);
}

function attachmentOf({ filename, contentType, cid, content }: MailFile): ReceivedAttachment {
  return {
    filename: fileName(filename),
    contentType: MEDIA_TYPE.test(contentType) ? contentType : 'application/octet-stream',
    contentId: shortLine(cid) || null,
    content,
  };
}

/** A name that looks like a path is cut to its last part. */
function fileName(written: string): string | null {
  const path = oneLine(written);
  const name = shortLine(path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1));
  return name === '' || name === '.' || name === '..' ? null : name;
}
