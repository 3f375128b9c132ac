import type { InboxStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import { noSuch } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';

/** `DELETE /v1/inboxes/{id}`: by id or address; its messages and threads go with it. */
export function deleteInbox(inboxes: Pick<InboxStore, 'delete'>): Handle {
  return async ({ key, id: written }) => {
    const id = await inboxes.delete(key, written);
    return id === null ? noSuch('inbox') : json(200, { object: 'inbox', id, deleted: true });
  };
}
