import { parseEmailDraft } from '@postrider/domain';
import type { EmailStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import { invalidFields } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';

/**
 * `POST /v1/emails`. Answered once the message and its place in the outbox are stored; a message of a test key is
 * stored and goes no further.
 */
export function createEmail(emails: Pick<EmailStore, 'create'>): Handle {
  return async ({ key, body }) => {
    const parsed = parseEmailDraft(body);
    if (!parsed.ok) return invalidFields(parsed.faults);
    return json(200, { id: await emails.create(key.accountId, key.kind, parsed.draft) });
  };
}
