import { messageRecord } from '@postrider/domain';
import type { MessageStore } from '@postrider/store';
import { z } from 'zod';
import { listAnswer } from '../../http/list-answer.ts';
import { idField } from '../../http/id-field.ts';
import { parseQuery } from '../../http/query-fields.ts';
import { heldNeedsManage } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';
import { seesHeld } from './find-message.ts';

export const MESSAGE_STATUSES = ['received', 'held', 'released'] as const;

const filter = z.object({
  status: z.enum(MESSAGE_STATUSES, { error: 'is no status of a message' }).optional(),
  inbox_id: idField('inbox', 'an inbox').optional(),
});

/** `GET /v1/inbound/messages`: the records of the events, the newest first. An inbox that is not there has none. */
export function listMessages(messages: Pick<MessageStore, 'list'>): Handle {
  return async ({ key, query }) => {
    const parsed = parseQuery(query, filter);
    if (!parsed.ok) return parsed.refusal;
    const { status = null, inbox_id: inboxId = null } = parsed.fields;
    if (status === 'held' && !seesHeld(key)) return heldNeedsManage;
    return listAnswer(query, {
      noun: 'message',
      read: (request) => messages.list(key, { status, inboxId }, request),
      show: messageRecord,
    });
  };
}
