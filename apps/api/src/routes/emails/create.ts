import type { IncomingHttpHeaders } from 'node:http';
import { parseEmailDraft } from '@postrider/domain';
import type { FieldFault } from '@postrider/domain';
import type { EmailStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import { invalidFields } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';

/**
 * `POST /v1/emails`. Answered once the message and its place in the outbox are stored; a message of a test key is
 * stored and goes no further.
 */
export function createEmail(emails: Pick<EmailStore, 'create'>): Handle {
  return async ({ key, headers, body }) => {
    const parsed = parseEmailDraft(body);
    const faults = [...headerFaults(headers), ...(parsed.ok ? [] : parsed.faults)];
    if (!parsed.ok || faults.length > 0) return invalidFields(faults);
    return json(200, { id: await emails.create(key.accountId, key.kind, parsed.draft) });
  };
}

/** Whoever sends the key counts on a repetition to be harmless. This version cannot keep that, and so must not accept it. */
function headerFaults(headers: IncomingHttpHeaders): FieldFault[] {
  if (headers['idempotency-key'] === undefined) return [];
  return [{ field: 'Idempotency-Key', message: 'is not supported in this version' }];
}
