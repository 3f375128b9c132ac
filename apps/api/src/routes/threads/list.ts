import { listAnswer } from '../../http/list-answer.ts';
import { invalid } from '../../problems/answers.ts';
import { quoted } from '../../problems/quoted.ts';
import type { Handle } from '../route.ts';
import { findInbox } from './in-thread.ts';
import type { ThreadParts } from './in-thread.ts';
import { threadObject } from './thread-object.ts';

/**
 * `GET /v1/inboxes/{id}/threads`: the one with the newest message first. Every thread is in the folder `inbox` and has no label:
 * the filters `folders` and `labels` let all of them through or none.
 */
export function listThreads(parts: ThreadParts): Handle {
  return async (request) => {
    const { query } = request;
    const inbox = await findInbox(parts, request);
    if (!inbox.ok) return inbox.refusal;
    const read = query.get('read');
    if (read !== null && read !== 'true' && read !== 'false') {
      return invalid(`read ${quoted(read)} is not true or false.`);
    }
    const folders = listIn(query, 'folders');
    const isEmpty = listIn(query, 'labels').length > 0 || (folders.length > 0 && !folders.includes('inbox'));
    return listAnswer(query, {
      noun: 'thread',
      async read(page) {
        const found = await parts.threads.list(inbox.value.id, read === null ? null : read === 'true', page);
        return isEmpty && found !== null ? { entries: [], hasMore: false } : found;
      },
      show: threadObject,
    });
  };
}

/** Resend's SDK joins a list with commas; others repeat the parameter. An empty list filters nothing. */
function listIn(query: URLSearchParams, name: string): string[] {
  return query.getAll(name).flatMap((written) => written.split(',').filter((each) => each !== ''));
}
