import type { DeadLetterStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import { invalid, noSuch } from '../../problems/answers.ts';
import { quoted } from '../../problems/quoted.ts';
import type { Handle } from '../route.ts';
import { parseReplayRequest } from './selection.ts';

/** `POST /v1/webhooks/dead-letters/replay`: those of a webhook that match, the oldest first, 1,000 at the most. */
export function replayDeadLetters(deadLetters: Pick<DeadLetterStore, 'replayMatching'>): Handle {
  return async ({ key, body }) => {
    const parsed = parseReplayRequest(body);
    if (!parsed.ok) return parsed.refusal;
    const { webhook: webhookId, ...filter } = parsed.fields;
    if (webhookId === null) return noSuch('webhook');
    const outcome = await deadLetters.replayMatching(key.accountId, { webhookId, ...filter });
    if (outcome.kind === 'no webhook') return noSuch('webhook');
    if (outcome.kind === 'no such cut') {
      return invalid(`before ${quoted(filter.before)} is not the id of a dead letter of the account.`);
    }
    const { replayed, remaining } = outcome;
    return json(200, { replayed, remaining });
  };
}
