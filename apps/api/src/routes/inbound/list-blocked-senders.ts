import type { BlockedSenderStore } from '@postrider/store';
import { answerPage } from '../../http/answer-page.ts';
import type { Handle } from '../route.ts';
import { blockedSenderObject } from './blocked-sender-object.ts';

/** `GET /v1/inbound/blocked-senders`: the newest first. */
export function listBlockedSenders(senders: Pick<BlockedSenderStore, 'list'>): Handle {
  return ({ key, query }) =>
    answerPage(query, {
      noun: 'blockedSender',
      read: (request) => senders.list(key.accountId, request),
      show: blockedSenderObject,
    });
}
