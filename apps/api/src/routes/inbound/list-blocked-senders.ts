import type { BlockedSenderStore } from '@postrider/store';
import { listAnswer } from '../../http/list-answer.ts';
import type { Handle } from '../route.ts';
import { blockedSenderObject } from './blocked-sender-object.ts';

/** `GET /v1/inbound/blocked-senders`: the newest first. */
export function listBlockedSenders(senders: Pick<BlockedSenderStore, 'list'>): Handle {
  return ({ key, query }) =>
    listAnswer(query, {
      noun: 'blockedSender',
      read: (request) => senders.list(key.accountId, request),
      show: blockedSenderObject,
    });
}
