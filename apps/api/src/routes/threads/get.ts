import { json } from '../../http/answer.ts';
import type { Handle } from '../route.ts';
import { findThread } from './in-thread.ts';
import type { ThreadParts } from './in-thread.ts';
import { threadSummary } from './thread-object.ts';

/** `GET /v1/inboxes/{id}/threads/{thread}`. */
export function getThread(parts: ThreadParts): Handle {
  return async (request) => {
    const found = await findThread(parts, request);
    return found.ok ? json(200, threadSummary(found.value.thread)) : found.refusal;
  };
}
