import type { DeadLetterStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import { invalid } from '../../problems/answers.ts';
import { quoted } from '../../problems/quoted.ts';
import type { Handle } from '../route.ts';
import { parseSelection } from './selection.ts';

/** `GET /v1/webhooks/dead-letters` (contract 4.4): the newest 100 of those that the query selects. */
export function listDeadLetters(deadLetters: Pick<DeadLetterStore, 'list'>): Handle {
  return async ({ key, query }) => {
    const parsed = parseSelection(query);
    if (!parsed.ok) return parsed.refusal;
    const { after, ...filter } = parsed.fields;
    const page = await deadLetters.list(key.accountId, filter, after);
    if (page === null)
      return invalid(`after ${quoted(after)} is not the id of a dead letter of the account.`);
    const data = page.entries.map((letter) => ({
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
