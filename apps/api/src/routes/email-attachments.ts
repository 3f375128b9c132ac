import { parseId } from '@postrider/domain';
import type { EmailId, MailReader, ReceivedAttachment } from '@postrider/domain';
import { attachmentType } from '@postrider/mail';
import type { EmailStore, ListedAttachment } from '@postrider/store';
import { z } from 'zod';
import { json } from '../http/answer.ts';
import { listAnswerFrom } from '../http/list-answer.ts';
import { noSuch } from '../problems/answers.ts';
import { link, linkTo } from './links.ts';
import type { LinkMaker } from './links.ts';
import type { Documented, KeyedRoute } from './route.ts';
import { count, pageOf, text } from './schemas.ts';
import type { AnswerOf } from './schemas.ts';

const READ = { scope: 'emails:read', limited: true } as const;

/** Attachments of sent mail, in the shape of Resend's SDK (`emails.attachments`). */
export function emailAttachmentRoutes(emails: EmailStore, links: LinkMaker): readonly Documented[] {
  return [listEmailAttachments(emails, links), getEmailAttachment(emails, links)];
}

export const disposition = z
  .enum(['inline', 'attachment'])
  .meta({ description: '`inline` where it has a `content_id`.' });

export function dispositionOf(contentId: string | null): 'inline' | 'attachment' {
  return contentId === null ? 'attachment' : 'inline';
}

/** As Resend does, an answer leaves out the name and the Content-ID that a file does not have. */
const emailAttachmentFields = {
  id: text,
  filename: text.exactOptional(),
  size: count.meta({ description: 'In bytes, decoded.' }),
  content_type: text,
  content_disposition: disposition,
  content_id: text.exactOptional(),
  ...link.shape,
};
/**
 * An attachment of sent or received mail, in the shape of Resend. `messages.ts` shows attachments of received
 * mail in a shape of our own.
 */
export const emailAttachmentEntry = z.object(emailAttachmentFields);
export const emailAttachmentPage = pageOf(emailAttachmentEntry).meta({ id: 'EmailAttachmentPage' });
export const oneEmailAttachment = z
  .object({ object: z.literal('attachment'), ...emailAttachmentFields })
  .meta({ id: 'EmailAttachment' });

export function emailAttachmentObject(
  { id, filename, size, contentType, contentId }: Omit<ReceivedAttachment, 'id'> & { readonly id: string },
  downloadLink: AnswerOf<typeof link>,
): AnswerOf<typeof emailAttachmentEntry> {
  return {
    id,
    ...(filename === null ? {} : { filename }),
    size,
    content_type: contentType,
    content_disposition: dispositionOf(contentId),
    ...(contentId === null ? {} : { content_id: contentId }),
    ...downloadLink,
  };
}

function listEmailAttachments(emails: EmailStore, links: LinkMaker): Documented<KeyedRoute> {
  return {
    ...READ,
    method: 'get',
    path: '/v1/emails/:id/attachments',
    docs: {
      operationId: 'listEmailAttachments',
      summary: 'List attachments of a message, each with a link',
      description: 'None once the contents are past their days.',
      success: { status: 200, body: emailAttachmentPage },
      paged: true,
      refusals: ['validation-failed', 'not-found'],
    },
    async handle({ key, id, origin, query }) {
      const found = await attachmentsOf(emails, key, id);
      if (found === null) return noSuch('email');
      return listAnswerFrom(query, found, (file) => sentObject(links, origin, file));
    },
  };
}

function getEmailAttachment(emails: EmailStore, links: LinkMaker): Documented<KeyedRoute> {
  return {
    ...READ,
    method: 'get',
    path: '/v1/emails/:id/attachments/:attachment',
    docs: {
      operationId: 'getEmailAttachment',
      summary: 'Read an attachment of a message, with a link',
      success: { status: 200, body: oneEmailAttachment },
      refusals: ['not-found'],
    },
    async handle({ key, id, origin, params }) {
      const found = await attachmentsOf(emails, key, id);
      if (found === null) return noSuch('email');
      const file = found.find((each) => each.id === params['attachment']);
      if (file === undefined) return noSuch('attachment');
      return json<AnswerOf<typeof oneEmailAttachment>>(200, {
        object: 'attachment',
        ...sentObject(links, origin, file),
      });
    },
  };
}

interface SentFile extends ListedAttachment {
  readonly emailId: EmailId;
  /** `em_….0`, as in the messages of a mail thread. */
  readonly id: string;
}

async function attachmentsOf(
  emails: EmailStore,
  reader: MailReader,
  idText: string,
): Promise<SentFile[] | null> {
  const emailId = parseId('email', idText);
  if (emailId === null) return null;
  const files = await emails.attachments(reader, emailId);
  if (files === null) return null;
  return files.map((file) => ({ ...file, emailId, id: `${emailId}.${file.position}` }));
}

function sentObject(
  links: LinkMaker,
  origin: string,
  { emailId, position, ...file }: SentFile,
): AnswerOf<typeof emailAttachmentEntry> {
  return emailAttachmentObject(
    { ...file, contentType: attachmentType(file) },
    linkTo(links, origin, { emailId, position }),
  );
}
