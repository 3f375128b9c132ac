import type { MessageStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import type { Handle } from '../route.ts';
import { withMessage } from './find-message.ts';
import { linkTo } from './link.ts';
import type { LinkMaker } from './link.ts';

/** `GET /v1/inbound/messages/{id}/raw`: a link to the message as it came. */
export function getRaw(messages: Pick<MessageStore, 'find'>, links: LinkMaker): Handle {
  return (request) =>
    withMessage(messages, request, ({ id }) =>
      json(200, linkTo(links, request.origin, { messageId: id, attachmentId: null })),
    );
}
