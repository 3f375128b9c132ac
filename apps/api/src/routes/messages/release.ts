import { parseId } from '@postrider/domain';
import type { MessageStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import { noSuch, notHeld } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';

/** `POST /v1/inbound/messages/{id}/release`: the message is received from now on, with its event. */
export function releaseMessage(messages: Pick<MessageStore, 'release'>): Handle {
  return async ({ key, id: written }) => {
    const id = parseId('message', written);
    const outcome = id === null ? 'missing' : await messages.release(key, id);
    switch (outcome) {
      case 'released':
        return json(200, { object: 'message', id, status: 'released' });
      case 'not-held':
        return notHeld;
      case 'missing':
        return noSuch('message');
    }
  };
}
