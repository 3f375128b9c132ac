import type { DeadLetterStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import type { Handle } from '../route.ts';

/** `GET /v1/webhooks/dead-letters` (contract 4.4): the newest 100. */
export function listDeadLetters(deadLetters: Pick<DeadLetterStore, 'list'>): Handle {
  return async ({ key }) => {
    const found = await deadLetters.list(key.accountId);
    const data = found.map((letter) => ({
      id: letter.id,
      webhook: letter.webhookId,
      event_id: letter.eventId,
      type: letter.type,
      attempts: letter.attempts,
      reason: letter.reason,
      last_error: letter.lastError,
      status_code: letter.statusCode,
    }));
    return json(200, { object: 'list', data });
  };
}
