import { LIMITS, newId, parseId } from '@postrider/domain';
import type { Clock, EmailId, InboxId, MessageId, ThreadId } from '@postrider/domain';
import { anyCase } from '../db/any-case.ts';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { pageOf, pageWithin } from '../db/page.ts';
import type { Page, PageAt, PageRequest } from '../db/page.ts';
import { inTransaction } from '../db/pool.ts';
import { run } from '../db/statement.ts';
import { lockInbox } from './sql/inboxes.ts';
import {
  emailsAfter,
  emailsBefore,
  markThread,
  readThread,
  readThreadEmails,
  readThreadMessages,
  removeThread,
  searchThreads,
  threadsAfter,
  threadsBefore,
  unreadThreadsAfter,
  unreadThreadsBefore,
} from './sql/threads.ts';

/** A thread by itself. The time to read it does not depend on its messages. */
export interface ThreadSummary {
  readonly id: ThreadId;
  readonly subject: string | null;
  readonly lastAt: Date;
  /** True when every received message is read. */
  readonly read: boolean;
}

export interface Thread extends ThreadSummary {
  /** Sender and recipients of the newest message, received or sent. */
  readonly from: string | null;
  readonly to: readonly string[] | null;
  readonly cc: readonly string[] | null;
  readonly bcc: readonly string[] | null;
  readonly emailCount: number;
  readonly hasAttachment: boolean;
}

/** A message of a thread that the inbox received or sent. */
export interface ThreadEmail {
  readonly id: MessageId | EmailId;
  readonly direction: 'inbound' | 'outbound';
  readonly from: string;
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  readonly replyTo: readonly string[];
  readonly subject: string | null;
  /** The Message-ID header without brackets. null: the message has none, or the inbox sent it. */
  readonly messageId: string | null;
  /** The References header without brackets; if it is empty, `In-Reply-To`. */
  readonly references: readonly string[];
  /** The provider's id of a sent message. */
  readonly providerMessageId: string | null;
  /** May be cut shortly after `LIMITS.messageBodyBytes`, and so may `text`. */
  readonly html: string | null;
  readonly text: string | null;
  /** The message was read whole. A sent message always is. */
  readonly complete: boolean;
  /** A page of messages has the first `LIMITS.recordEntries` of each message. */
  readonly attachments: readonly {
    readonly id: string;
    readonly filename: string | null;
    readonly size: number;
  }[];
  readonly read: boolean;
  readonly createdAt: Date;
}

/** An absent property matches any message. */
export interface ThreadSearch {
  /** Whether all that the thread received is read. */
  readonly read?: boolean | undefined;
  /** In the subject, an address, or the first 16 KiB of the text. */
  readonly query?: string | undefined;
  /** Each list matches a message in which one of its texts occurs. */
  readonly from?: readonly string[] | undefined;
  readonly to?: readonly string[] | undefined;
  readonly cc?: readonly string[] | undefined;
  readonly bcc?: readonly string[] | undefined;
  readonly hasAttachment?: boolean | undefined;
  /** Received or sent at this time or later. */
  readonly since?: Date | undefined;
  /** Received or sent before this time. */
  readonly until?: Date | undefined;
}

export interface FoundThread extends Thread {
  /** The newest of its messages that match. */
  readonly matchedEmailId: MessageId | EmailId;
}

type ThreadRemoval =
  | 'removed'
  | 'missing'
  /** Only a part of the thread is deleted: call again. */
  | 'unfinished';

/** Messages per transaction, where a call changes all messages of a thread. */
const STEP_MESSAGES = 500;
/** So one call changes at most 10,000 messages. Calls of other accounts wait for this call. */
const STEPS_MAX = 20;

export type ThreadStore = ReturnType<typeof createThreadStore>;

export function createThreadStore(db: Database, clock: Clock) {
  const email = async (threadId: ThreadId, id: string): Promise<ThreadEmail | null> =>
    (await readEmails(db, threadId, [id], null))[0] ?? null;
  const find = async (inboxId: InboxId, id: ThreadId): Promise<ThreadSummary | null> =>
    (await runOn<ThreadSummary>(db.pool, readThread, [inboxId, id]))[0] ?? null;

  return {
    find,
    email,
    /**
     * The thread with the newest message first.
     *
     * @param read null: read and unread threads. @returns null when the cursor is not a thread of the inbox.
     */
    async list(
      inboxId: InboxId,
      read: boolean | null,
      { limit, cursor }: PageRequest<'thread'>,
    ): Promise<Page<Thread> | null> {
      const at = cursor === null ? null : await find(inboxId, cursor.id);
      if (cursor !== null && at === null) return null;
      const upwards = cursor?.side === 'before';
      const values = [inboxId, at?.lastAt ?? 'infinity', at?.id ?? '', limit + 1];
      const rows =
        read === false
          ? await runOn<Thread>(db.pool, upwards ? unreadThreadsBefore : unreadThreadsAfter, values)
          : await runOn<Thread>(db.pool, upwards ? threadsBefore : threadsAfter, [...values, read === true]);
      return pageOf(rows, limit, upwards);
    },
    /**
     * Finds threads with a matching message. The thread with the newest message comes first. It looks only at
     * the newest messages of the time span: `LIMITS.searchedMessages` received and as many sent ones.
     *
     * @returns null when the cursor is not a thread of the inbox.
     */
    async search(
      inboxId: InboxId,
      search: ThreadSearch,
      request: PageRequest<'thread'>,
    ): Promise<Page<FoundThread> | null> {
      const { cursor } = request;
      const at = cursor === null ? null : await find(inboxId, cursor.id);
      if (cursor !== null && at === null) return null;
      return searchFrom(db, inboxId, search, request, at);
    },
    /**
     * Deletes a thread with its received messages, which read as missing at once. The mail that was sent
     * stays, outside of the thread.
     */
    async remove(inboxId: InboxId, id: ThreadId): Promise<ThreadRemoval> {
      return remove(db, clock, inboxId, id);
    },
    /**
     * Marks all received messages as read or unread, in short transactions.
     *
     * @returns false when some messages may be left: call again.
     */
    async mark(inboxId: InboxId, id: ThreadId, read: boolean): Promise<boolean> {
      return mark(db, inboxId, id, read);
    },
    /**
     * The newest first. A page ends early when its texts would exceed `LIMITS.threadPageBytes`.
     * The cursor is a received message or a sent email.
     *
     * @returns null when the cursor is not a message of the thread.
     */
    async emails(threadId: ThreadId, { limit, cursor }: PageAt<string>): Promise<Page<ThreadEmail> | null> {
      const at = cursor === null ? null : await email(threadId, cursor.id);
      if (cursor !== null && at === null) return null;
      const upwards = cursor?.side === 'before';
      const values = [
        threadId,
        at?.createdAt ?? 'infinity',
        at?.id ?? '',
        limit + 1,
        LIMITS.messageBodyBytes,
      ];
      const found = await runOn<Sized>(db.pool, upwards ? emailsBefore : emailsAfter, values);
      const size = { limit, bytesMax: LIMITS.threadPageBytes };
      const { entries, hasMore } = pageWithin(found, size, upwards);
      const ids = entries.map(({ id }) => id);
      const rows = await readEmails(db, threadId, ids, LIMITS.recordEntries);
      const byId = new Map(rows.map((row) => [row.id as string, row]));
      return { entries: ids.flatMap((id) => byId.get(id) ?? []), hasMore };
    },
  };
}

/** @param attachmentsMax of each message; null: all. @returns the messages in any order. */
async function readEmails(
  db: Database,
  threadId: ThreadId,
  ids: readonly string[],
  attachmentsMax: number | null,
): Promise<ThreadEmail[]> {
  const values = [threadId, ids, LIMITS.messageBodyBytes + 1, attachmentsMax];
  return runOn<ThreadEmail>(db.pool, readThreadEmails, values);
}

/** @param at the thread of the cursor; null: the first page. */
async function searchFrom(
  db: Database,
  inboxId: InboxId,
  { read, since, until, query, from, to, cc, bcc, hasAttachment }: ThreadSearch,
  { limit, cursor }: PageRequest<'thread'>,
  at: ThreadSummary | null,
): Promise<Page<FoundThread>> {
  const upwards = cursor?.side === 'before';
  const words = [query === undefined ? undefined : [query], from, to, cc, bcc];
  const rows = await runOn<FoundThread>(db.pool, searchThreads, [
    inboxId,
    read ?? null,
    since?.toISOString() ?? '-infinity',
    until?.toISOString() ?? 'infinity',
    ...words.map((list) => list?.map(anyCase).join('|') ?? null),
    hasAttachment ?? null,
    LIMITS.searchedMessages,
    LIMITS.recordTextBytes,
    at?.lastAt ?? null,
    at?.id ?? null,
    upwards,
    limit + 1,
  ]);
  return pageOf(rows, limit, upwards);
}

/** Looks at each message once. So the call ends even while another call marks the messages the other way. */
async function mark(db: Database, inboxId: InboxId, id: ThreadId, read: boolean): Promise<boolean> {
  let last: { readonly createdAt: Date | string; readonly id: string } = { createdAt: '-infinity', id: '' };
  for (let steps = 0; steps < STEPS_MAX; steps += 1) {
    const values: unknown[] = [inboxId, id, read, last.createdAt, last.id, STEP_MESSAGES];
    const [next] = await runOn<{ createdAt: Date; id: string }>(db.pool, markThread, values);
    if (next === undefined) return true;
    last = next;
  }
  return false;
}

/**
 * Deletes the messages that the thread has now: a message that arrives during the steps stays, in a new
 * thread. Each step moves its messages to a deleted inbox with a new id. A relay may delete and forget that
 * inbox during the next step.
 */
async function remove(db: Database, clock: Clock, inboxId: InboxId, id: ThreadId): Promise<ThreadRemoval> {
  const values = [inboxId, id, STEPS_MAX * STEP_MESSAGES + 1];
  const messages = await runOn<{ id: MessageId }>(db.pool, readThreadMessages, values);
  const ids = messages.map((message) => message.id);
  for (let end = STEP_MESSAGES; end <= STEPS_MAX * STEP_MESSAGES; end += STEP_MESSAGES) {
    const [thread] = await inTransaction(db.pool, async (client) => {
      await run(client, lockInbox, [inboxId, null]);
      return run<{ isGone: boolean }>(client, removeThread, [
        inboxId,
        id,
        newId('inbox', clock),
        ids.slice(end - STEP_MESSAGES, end),
        STEP_MESSAGES,
        end >= ids.length,
        newId('thread', clock),
      ]);
    });
    if (thread === undefined) return 'missing';
    if (thread.isGone) return 'removed';
  }
  return 'unfinished';
}

/** True when the text has the form of a message id or an email id. */
export function isThreadEmailId(text: string): boolean {
  return parseId('message', text) !== null || parseId('email', text) !== null;
}

interface Sized {
  readonly id: string;
  readonly bytes: number;
}
