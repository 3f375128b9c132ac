import { parseId } from '@postrider/domain';
import type { BlockedSenderStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import { noSuch } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';

/** `DELETE /v1/inbound/blocked-senders/{id}`: mail that is held stays held. */
export function unblockSender(senders: Pick<BlockedSenderStore, 'delete'>): Handle {
  return async ({ key, id: written }) => {
    const id = parseId('blockedSender', written);
    const deleted = id !== null && (await senders.delete(key.accountId, id));
    return deleted ? json(200, { object: 'blocked_sender', id, deleted: true }) : noSuch('blocked sender');
  };
}
