import { LIMITS, parseId } from '@postrider/domain';
import type { EmailId, InboxId, MessageId, ThreadId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { pageOf } from '../db/page.ts';
import type { Page, PageRequest } from '../db/page.ts';
import {
  emailsAfter,
  emailsBefore,
  markThread,
  readThread,
  readThreadEmails,
  threadsAfter,
  threadsBefore,
} from './sql/threads.ts';

export interface Thread {
  readonly id: ThreadId;
  readonly subject: string | null;
  /** Sender and recipients of the newest message, received or sent. */
  readonly from: string | null;
  readonly to: readonly string[] | null;
  readonly cc: readonly string[] | null;
  readonly bcc: readonly string[] | null;
  readonly lastAt: Date;
  readonly emailCount: number;
  readonly hasAttachment: boolean;
  /** True when every received message is read. */
  readonly read: boolean;
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
  readonly attachments: readonly {
    readonly id: string;
    readonly filename: string | null;
    readonly size: number;
  }[];
  readonly read: boolean;
  readonly createdAt: Date;
}

export interface ThreadEmailsRequest {
  readonly limit: number;
  /** The id is a received message or a sent email. */
  readonly cursor: { readonly side: 'after' | 'before'; readonly id: string } | null;
}

export type ThreadStore = ReturnType<typeof createThreadStore>;

export function createThreadStore(db: Database) {
  const readEmails = async (threadId: ThreadId, ids: readonly string[]): Promise<ThreadEmail[]> =>
    runOn<ThreadEmail>(db.pool, readThreadEmails, [threadId, ids, LIMITS.messageBodyBytes + 1]);
  const email = async (threadId: ThreadId, id: string): Promise<ThreadEmail | null> =>
    (await readEmails(threadId, [id]))[0] ?? null;
  const find = async (inboxId: InboxId, id: ThreadId): Promise<Thread | null> =>
    (await runOn<Thread>(db.pool, readThread, [inboxId, id]))[0] ?? null;

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
      const values = [inboxId, read, at?.lastAt ?? null, at?.id ?? null, limit + 1];
      const rows = await runOn<Thread>(db.pool, upwards ? threadsBefore : threadsAfter, values);
      return pageOf(rows, limit, upwards);
    },
    /** Marks all received messages as read or unread. @returns false when the thread does not exist. */
    async mark(inboxId: InboxId, id: ThreadId, read: boolean): Promise<boolean> {
      return (await runOn(db.pool, markThread, [inboxId, id, read])).length > 0;
    },
    /**
     * The newest first. A page ends early when text and HTML would exceed `LIMITS.threadPageBytes`.
     *
     * @returns null when the cursor is not a message of the thread.
     */
    async emails(
      threadId: ThreadId,
      { limit, cursor }: ThreadEmailsRequest,
    ): Promise<Page<ThreadEmail> | null> {
      const at = cursor === null ? null : await email(threadId, cursor.id);
      if (cursor !== null && at === null) return null;
      const upwards = cursor?.side === 'before';
      const values = [threadId, at?.createdAt ?? null, at?.id ?? null, limit + 1, LIMITS.messageBodyBytes];
      const found = await runOn<Sized>(db.pool, upwards ? emailsBefore : emailsAfter, values);
      const { entries, hasMore } = pageOf(found, fitting(found, limit), upwards);
      const ids = entries.map(({ id }) => id);
      const rows = await readEmails(threadId, ids);
      const byId = new Map(rows.map((row) => [row.id as string, row]));
      return { entries: ids.flatMap((id) => byId.get(id) ?? []), hasMore };
    },
  };
}

/** True when the text has the form of a message id or an email id. */
export function isThreadEmailId(text: string): boolean {
  return parseId('message', text) !== null || parseId('email', text) !== null;
}

interface Sized {
  readonly id: string;
  readonly bytes: number;
}

/** The number of messages on a page: up to `limit` while their bytes fit, and at least one. */
function fitting(found: readonly Sized[], limit: number): number {
  let bytes = 0;
  const over = found.findIndex((each) => (bytes += each.bytes) > LIMITS.threadPageBytes);
  return over === -1 ? limit : Math.min(limit, Math.max(1, over));
}
