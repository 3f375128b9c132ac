import { parseId, valueAt } from '@postrider/domain';
import { isThreadEmailId } from '@postrider/store';
import type { InboxIdentity, Page, Thread, ThreadEmail, ThreadSummary } from '@postrider/store';
import { z } from 'zod';
import { AccountSlots } from '../http/account-slots.ts';
import { json } from '../http/answer.ts';
import type { Answer } from '../http/answer.ts';
import { resourceBody } from '../http/body-rules.ts';
import { hasAny, parseFields, resourceFieldRule } from '../http/fields.ts';
import { COSTLY, inSlot } from '../http/in-slot.ts';
import { listAnswer } from '../http/list-answer.ts';
import { parseQuery } from '../http/query-fields.ts';
import { invalid, noSuch, threadIsLarge } from '../problems/answers.ts';
import { quoted } from '../problems/quoted.ts';
import type { RouteStores } from '../stores.ts';
import type { Documented, KeyedRoute, RouteRequest } from './route.ts';
import { count, deleted, idOf, nullableText, pageOf, texts, time } from './schemas.ts';
import type { AnswerOf } from './schemas.ts';

const READ = { scope: 'inbound:read', limited: true } as const;

/** Mail threads: the conversations of an inbox. */
export function threadRoutes(stores: RouteStores): readonly Documented[] {
  // A list may read 100 whole threads. A change may write a whole thread. So the API serves few such requests
  // at a time.
  const listSlots = new AccountSlots(COSTLY, null);
  const changeSlots = new AccountSlots(COSTLY, null);
  return [
    listThreads(stores, listSlots),
    getThread(stores),
    updateThread(stores, changeSlots),
    deleteThread(stores, changeSlots),
  ];
}

export const booleanParameter = z
  .string()
  .refine((written) => written === 'true' || written === 'false', { error: 'is not true or false' })
  .meta({ type: 'boolean' })
  .transform((written) => written === 'true')
  .optional();

/**
 * `folders` and `labels` are lists, so `listIn` reads them. Resend's SDK joins a list with commas; other
 * clients repeat the parameter.
 */
export const threadQuery = z.object({
  read: booleanParameter.meta({ description: 'Whether all that they received is read.' }),
  folders: z.string().optional().meta({ description: 'Comma-separated. Every thread is in `inbox`.' }),
  labels: z.string().optional().meta({ description: 'Comma-separated. No thread has one.' }),
});

const threadFields = {
  id: idOf('thread'),
  subject: nullableText,
  folder: z.literal('inbox'),
  labels: z.array(z.never()).max(0),
  read: z.boolean(),
};
export const threadEntry = z.object({
  ...threadFields,
  from: nullableText,
  to: texts,
  cc: texts,
  bcc: texts,
  email_count: count,
  has_attachment: z.boolean(),
  has_draft: z.literal(false),
  received_at: time,
});
const threadPage = pageOf(threadEntry).meta({ id: 'ThreadPage' });

function listThreads(stores: RouteStores, slots: AccountSlots): Documented<KeyedRoute> {
  const readQuery = threadQuery.pick({ read: true });
  return {
    ...READ,
    method: 'get',
    path: '/v1/inboxes/:id/threads',
    docs: {
      operationId: 'listThreads',
      summary: 'List threads of an inbox, that with the newest message first',
      query: threadQuery,
      success: { status: 200, body: threadPage },
      paged: true,
      refusals: ['not-found', 'validation-failed'],
    },
    async handle(request) {
      const { query } = request;
      const inbox = await findInbox(stores, request);
      if (!inbox.ok) return inbox.answer;
      const parsed = parseQuery(query, readQuery);
      if (!parsed.ok) return parsed.refusal;
      const { read: isRead = null } = parsed.fields;
      return inSlot(slots, request, () =>
        listAnswer(query, {
          noun: 'thread',
          read: async (page) => selectedIn(query, await stores.threads.list(inbox.value.id, isRead, page)),
          show: threadObject,
        }),
      );
    },
  };
}

/**
 * Every mail thread is in the folder `inbox` and has no label. So the filters `folders` and `labels` select
 * the whole page or nothing.
 */
export function selectedIn<Entry>(query: URLSearchParams, page: Page<Entry> | null): Page<Entry> | null {
  const folders = listIn(query, 'folders');
  const isInFolder = folders.length === 0 || folders.includes('inbox');
  const isSelected = isInFolder && listIn(query, 'labels').length === 0;
  return page === null || isSelected ? page : { entries: [], hasMore: false };
}

/** An empty list does not filter. */
export function listIn(query: URLSearchParams, name: string): string[] {
  return query.getAll(name).flatMap((written) => written.split(',').filter((each) => each !== ''));
}

const threadSummary = z
  .object({ object: z.literal('inbox_thread'), ...threadFields })
  .meta({ id: 'ThreadSummary' });

function getThread(stores: RouteStores): Documented<KeyedRoute> {
  return {
    ...READ,
    method: 'get',
    path: '/v1/inboxes/:id/threads/:thread',
    docs: {
      operationId: 'getThread',
      summary: 'Read a thread',
      success: { status: 200, body: threadSummary },
      refusals: ['not-found'],
    },
    async handle(request) {
      const found = await findThread(stores, request);
      return found.ok ? json(200, summaryOf(found.value.thread)) : found.answer;
    },
  };
}

const threadUpdate = z
  .object({ read: z.boolean({ error: 'is not true or false' }) })
  .meta({ id: 'ThreadUpdate', not: { required: ['folder'] } });

/** Marks what the mail thread received as read or unread. A mail thread cannot change its folder. */
function updateThread(stores: RouteStores, slots: AccountSlots): Documented<KeyedRoute> {
  return {
    method: 'patch',
    path: '/v1/inboxes/:id/threads/:thread',
    scope: 'inbound:manage',
    limited: true,
    body: resourceBody,
    docs: {
      operationId: 'updateThread',
      summary: 'Mark what a thread received as read or unread',
      description: 'More than 10,000 messages are marked in parts: 503 until all are marked.',
      request: threadUpdate,
      success: { status: 200, body: threadSummary },
      refusals: ['400 text', '422 text', 'validation-failed', 'not-found'],
    },
    async handle(request) {
      const { body } = request;
      const parsed = parseFields(body, threadUpdate, ['read'], resourceFieldRule);
      if (!parsed.ok) return parsed.refusal;
      if (hasAny(body, ['folder'])) {
        return invalid(`folder ${quoted(valueAt(body, ['folder']))} cannot be changed.`);
      }
      const { read } = parsed.fields;
      return inSlot(slots, request, async () => {
        const found = await findThread(stores, request);
        if (!found.ok) return found.answer;
        const { inbox, thread } = found.value;
        if (!(await stores.threads.mark(inbox.id, thread.id, read))) return threadIsLarge;
        return json(200, summaryOf({ ...thread, read }));
      });
    },
  };
}

const deletedThread = deleted('inbox_thread', 'thread').meta({ id: 'DeletedThread' });

function deleteThread(stores: RouteStores, slots: AccountSlots): Documented<KeyedRoute> {
  return {
    method: 'delete',
    path: '/v1/inboxes/:id/threads/:thread',
    scope: 'inbound:manage',
    limited: true,
    docs: {
      operationId: 'deleteThread',
      summary: 'Delete a thread with what it received; the mail that was sent stays',
      description: 'A thread of more than 10,000 messages is deleted in parts: 503 until it is gone.',
      success: { status: 200, body: deletedThread },
      refusals: ['not-found'],
    },
    async handle(request) {
      return inSlot(slots, request, async () => {
        const inbox = await findInbox(stores, request);
        if (!inbox.ok) return inbox.answer;
        const id = parseId('thread', request.params['thread'] ?? '');
        if (id === null) return noSuch('thread');
        const removal = await stores.threads.remove(inbox.value.id, id);
        if (removal === 'missing') return noSuch('thread');
        if (removal === 'unfinished') return threadIsLarge;
        return json<AnswerOf<typeof deletedThread>>(200, { object: 'inbox_thread', id, deleted: true });
      });
    },
  };
}

/** A mail thread in the shape of Resend's. There are no folders, labels or drafts. */
export function threadObject(thread: Thread): AnswerOf<typeof threadEntry> {
  return {
    id: thread.id,
    subject: thread.subject,
    from: thread.from,
    to: thread.to ?? [],
    cc: thread.cc ?? [],
    bcc: thread.bcc ?? [],
    labels: [],
    email_count: thread.emailCount,
    has_attachment: thread.hasAttachment,
    has_draft: false,
    read: thread.read,
    received_at: thread.lastAt.toISOString(),
    folder: 'inbox',
  };
}

function summaryOf({ id, subject, read }: ThreadSummary): AnswerOf<typeof threadSummary> {
  return { object: 'inbox_thread', id, subject, folder: 'inbox', labels: [], read };
}

type Asked = Pick<RouteRequest, 'key' | 'id' | 'params'>;

/** The resource that a path names, or the answer to send instead, such as the 404 of a missing part. */
export type Found<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly answer: Answer };

/** Finds the inbox that `:id` names by its id or its address. */
export async function findInbox({ inboxes }: RouteStores, { key, id }: Asked): Promise<Found<InboxIdentity>> {
  const inbox = await inboxes.identify(key, id);
  return inbox === null ? { ok: false, answer: noSuch('inbox') } : { ok: true, value: inbox };
}

export interface InThread {
  readonly inbox: InboxIdentity;
  readonly thread: ThreadSummary;
}

/** Finds the mail thread that `:thread` names. */
export async function findThread(stores: RouteStores, asked: Asked): Promise<Found<InThread>> {
  const inbox = await findInbox(stores, asked);
  if (!inbox.ok) return inbox;
  const id = parseId('thread', asked.params['thread'] ?? '');
  const thread = id === null ? null : await stores.threads.find(inbox.value.id, id);
  return thread === null
    ? { ok: false, answer: noSuch('thread') }
    : { ok: true, value: { inbox: inbox.value, thread } };
}

/** Finds the message that `:email` names. */
export async function findThreadEmail(
  stores: RouteStores,
  asked: Asked,
): Promise<Found<InThread & { readonly email: ThreadEmail }>> {
  const found = await findThread(stores, asked);
  if (!found.ok) return found;
  const id = asked.params['email'] ?? '';
  const email = isThreadEmailId(id) ? await stores.threads.email(found.value.thread.id, id) : null;
  return email === null
    ? { ok: false, answer: noSuch('message') }
    : { ok: true, value: { ...found.value, email } };
}
