import { wholeMessageRecord } from '@postrider/domain';
import type { MessageStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import type { Handle } from '../route.ts';
import { withMessage } from './find-message.ts';

/** `GET /v1/inbound/messages/{id}`: the record without its bounds, and what no event has. */
export function getMessage(messages: Pick<MessageStore, 'find'>): Handle {
  return (request) =>
    withMessage(messages, request, (message) =>
      json(200, {
        ...wholeMessageRecord(message),
        html: message.html,
        headers: message.headers,
        released_at: message.releasedAt?.toISOString() ?? null,
      }),
    );
}
