import { parseId } from '@postrider/domain';
import { isThreadEmailId } from '@postrider/store';
import type { InboxIdentity, InboxStore, Thread, ThreadEmail, ThreadStore } from '@postrider/store';
import type { Answer } from '../../http/answer.ts';
import { noSuch } from '../../problems/answers.ts';
import type { RouteRequest } from '../route.ts';

export interface ThreadParts {
  readonly inboxes: Pick<InboxStore, 'identify'>;
  readonly threads: ThreadStore;
}

type Asked = Pick<RouteRequest, 'key' | 'id' | 'params'>;

/** What lies at the end of a path, or the 404 of its first part that is missing. */
type Found<Value> =
  { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly refusal: Answer };

/** The inbox that `:id` names, by its id or address. */
export async function findInbox(
  { inboxes }: Pick<ThreadParts, 'inboxes'>,
  { key, id }: Asked,
): Promise<Found<InboxIdentity>> {
  const inbox = await inboxes.identify(key, id);
  return inbox === null ? { ok: false, refusal: noSuch('inbox') } : { ok: true, value: inbox };
}

export interface InThread {
  readonly inbox: InboxIdentity;
  readonly thread: Thread;
}

/** The thread that `:thread` names. */
export async function findThread(parts: ThreadParts, asked: Asked): Promise<Found<InThread>> {
  const inbox = await findInbox(parts, asked);
  if (!inbox.ok) return inbox;
  const id = parseId('thread', asked.params['thread'] ?? '');
  const thread = id === null ? null : await parts.threads.find(inbox.value.id, id);
  return thread === null
    ? { ok: false, refusal: noSuch('thread') }
    : { ok: true, value: { inbox: inbox.value, thread } };
}

/** The message that `:email` names. */
export async function findThreadEmail(
  parts: ThreadParts,
  asked: Asked,
): Promise<Found<InThread & { readonly email: ThreadEmail }>> {
  const found = await findThread(parts, asked);
  if (!found.ok) return found;
  const id = asked.params['email'] ?? '';
  const email = isThreadEmailId(id) ? await parts.threads.email(found.value.thread.id, id) : null;
  return email === null
    ? { ok: false, refusal: noSuch('message') }
    : { ok: true, value: { ...found.value, email } };
}
