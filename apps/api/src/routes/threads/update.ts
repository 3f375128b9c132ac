import { z } from 'zod';
import { json } from '../../http/answer.ts';
import { parseFields, resourceFields } from '../../http/fields.ts';
import { invalid } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';
import { findThread } from './in-thread.ts';
import type { ThreadParts } from './in-thread.ts';
import { threadSummary } from './thread-object.ts';

const request = z.object({ read: z.boolean({ error: 'is not true or false' }) });

/** `PATCH /v1/inboxes/{id}/threads/{thread}`: whether all that it received is read. It cannot be moved. */
export function updateThread(parts: ThreadParts): Handle {
  return async (asked) => {
    const { body } = asked;
    if (typeof body === 'object' && body !== null && Object.hasOwn(body, 'folder')) {
      return invalid('folder cannot be changed.');
    }
    const parsed = parseFields(body, request, ['read'], resourceFields);
    if (!parsed.ok) return parsed.refusal;
    const found = await findThread(parts, asked);
    if (!found.ok) return found.refusal;
    const { inbox, thread } = found.value;
    const { read } = parsed.fields;
    await parts.threads.mark(inbox.id, thread.id, read);
    return json(200, threadSummary({ ...thread, read }));
  };
}
