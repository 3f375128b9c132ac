import type { InboxStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import { noSuch } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';
import { inboxObject } from './inbox-object.ts';

/** `GET /v1/inboxes/{id}`: by id or address. `domain_id` is empty on a shared domain. */
export function getInbox(inboxes: Pick<InboxStore, 'find'>): Handle {
  return async ({ key, id }) => {
    const inbox = await inboxes.find(key, id);
    if (inbox === null) return noSuch('inbox');
    return json(200, {
      object: 'inbox',
      ...inboxObject(inbox),
      domain_id: inbox.domainId ?? '',
      receiving_address: inbox.address,
      drafts: 0,
    });
  };
}
