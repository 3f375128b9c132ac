import { parseId } from '@postrider/domain';
import type { BlockedSenderStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import { noSuch } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';
import { blockedSenderObject } from './blocked-sender-object.ts';

/** `GET /v1/inbound/blocked-senders/{id}`. */
export function getBlockedSender(senders: Pick<BlockedSenderStore, 'find'>): Handle {
  return async ({ key, id: written }) => {
    const id = parseId('blockedSender', written);
    const blocked = id === null ? null : await senders.find(key.accountId, id);
    return blocked === null ? noSuch('blocked sender') : json(200, blockedSenderObject(blocked));
  };
}
