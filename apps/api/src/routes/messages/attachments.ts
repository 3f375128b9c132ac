import type { MessageAttachment, MessageStore, WholeMessage } from '@postrider/store';
import { json } from '../../http/answer.ts';
import { noSuch } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';
import { withMessage } from './find-message.ts';
import { linkTo } from './link.ts';
import type { LinkMaker } from './link.ts';

/** `GET /v1/inbound/messages/{id}/attachments`: all of them, each with a link to its bytes. */
export function listAttachments(messages: Pick<MessageStore, 'find'>, links: LinkMaker): Handle {
  return (request) =>
    withMessage(messages, request, (message) =>
      json(200, {
        object: 'list',
        has_more: false,
        data: message.attachments.map((file) => attachmentObject(links, request.origin, message, file)),
      }),
    );
}

/** `GET /v1/inbound/messages/{id}/attachments/{attachment}` */
export function getAttachment(messages: Pick<MessageStore, 'find'>, links: LinkMaker): Handle {
  return (request) =>
    withMessage(messages, request, (message) => {
      const file = message.attachments.find(({ id }) => id === request.params['attachment']);
      if (file === undefined) return noSuch('attachment');
      return json(200, {
        object: 'attachment',
        ...attachmentObject(links, request.origin, message, file),
      });
    });
}

function attachmentObject(
  links: LinkMaker,
  origin: string,
  { id: messageId }: WholeMessage,
  { id, filename, contentType, contentId, size }: MessageAttachment,
) {
  return {
    id,
    filename,
    content_type: contentType,
    content_id: contentId,
    size,
    ...linkTo(links, origin, { messageId, attachmentId: id }),
  };
}
