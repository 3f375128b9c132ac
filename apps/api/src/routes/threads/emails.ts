import { isThreadEmailId } from '@postrider/store';
import { json } from '../../http/answer.ts';
import { parsePage, unknownCursor } from '../../http/list-answer.ts';
import { invalid } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';
import { findThread, findThreadEmail } from './in-thread.ts';
import type { ThreadParts } from './in-thread.ts';
import { threadEmailObject } from './thread-email-object.ts';

/** `GET …/threads/{thread}/emails`: what the thread received and sent, the newest first. A large page ends early. */
export function listThreadEmails(parts: ThreadParts, awsRegion: string | undefined): Handle {
  return async (request) => {
    const found = await findThread(parts, request);
    if (!found.ok) return found.refusal;
    const parsed = parsePage(request.query, (text) => (isThreadEmailId(text) ? text : null));
    if (!parsed.ok) return invalid(parsed.fault);
    const page = await parts.threads.emails(found.value.thread.id, parsed.request);
    if (page !== null) {
      const data = page.entries.map((email) => threadEmailObject(email, awsRegion));
      return json(200, { object: 'list', has_more: page.hasMore, data });
    }
    const { cursor } = parsed.request;
    if (cursor === null) throw new Error('a first page needs no cursor');
    return invalid(unknownCursor(cursor.side, cursor.id));
  };
}

/** `GET …/threads/{thread}/emails/{email}`. */
export function getThreadEmail(parts: ThreadParts, awsRegion: string | undefined): Handle {
  return async (request) => {
    const found = await findThreadEmail(parts, request);
    return found.ok ? json(200, threadEmailObject(found.value.email, awsRegion)) : found.refusal;
  };
}
