import type { InboxStore } from '@postrider/store';
import { listAnswer } from '../../http/list-answer.ts';
import type { Handle } from '../route.ts';
import { inboxObject } from './inbox-object.ts';

/** `GET /v1/inboxes`: those of the key's kind, the newest first. */
export function listInboxes(inboxes: Pick<InboxStore, 'list'>): Handle {
  return ({ key, query }) =>
    listAnswer(query, {
      noun: 'inbox',
      read: (request) => inboxes.list(key, request),
      show: inboxObject,
    });
}
