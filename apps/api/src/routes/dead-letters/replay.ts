import { parseId } from '@postrider/domain';
import type { DeadLetterStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import { noSuch } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';

/** `POST /v1/webhooks/dead-letters/{id}/replay` (contract 4.5). */
export function replayDeadLetter(deadLetters: Pick<DeadLetterStore, 'replay'>): Handle {
  return async ({ key, id: written }) => {
    const id = parseId('deadLetter', written);
    const replayed = id !== null && (await deadLetters.replay(key.accountId, id));
    return replayed ? json(200, { id, replayed: true }) : noSuch('dead letter');
  };
}
