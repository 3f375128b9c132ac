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
  /** Of its newest message, in or out. */
  readonly from: string | null;
  readonly to: readonly string[] | null;
  readonly cc: readonly string[] | null;
  readonly bcc: readonly string[] | null;
  readonly lastAt: Date;
  readonly emailCount: number;
  readonly hasAttachment: boolean;
  /** Whether all that it received is. */
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
  /** Of the header, without brackets; null without one, and where it was sent. */
  readonly messageId: string | null;
  /** Without brackets. Of `In-Reply-To` where there are none. */
  readonly references: readonly string[];
  /** Of what was sent: by which the provider knows it. */
  readonly providerMessageId: string | null;
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

export interface ThreadStore {
  /** By the newest message, the newest first. @returns null when the cursor is none of the inbox's threads. */
  list(inboxId: InboxId, read: boolean | null, request: PageRequest<'thread'>): Promise<Page<Thread> | null>;
  find(inboxId: InboxId, id: ThreadId): Promise<Thread | null>;
  /** Marks what it received. @returns false when there is none. */
  mark(inboxId: InboxId, id: ThreadId, read: boolean): Promise<boolean>;
  /**
   * The newest first. A page ends early where text and HTML would be over `LIMITS.threadPageBytes`.
   *
   * @param cursor of the page, of either noun. @returns null when it is none of the thread's messages.
   */
  emails(threadId: ThreadId, request: ThreadEmailsRequest): Promise<Page<ThreadEmail> | null>;
  email(threadId: ThreadId, id: string): Promise<ThreadEmail | null>;
}

export interface ThreadEmailsRequest {
  readonly limit: number;
  readonly cursor: { readonly side: 'after' | 'before'; readonly id: string } | null;
}

export function createThreadStore(db: Database): ThreadStore {
  const email = async (threadId: ThreadId, id: string) =>
    (await runOn<ThreadEmail>(db.pool, readThreadEmails, [threadId, [id]]))[0] ?? null;
  const find = async (inboxId: InboxId, id: ThreadId) =>
    (await runOn<Thread>(db.pool, readThread, [inboxId, id]))[0] ?? null;

  return {
    find,
    email,
    async list(inboxId, read, { limit, cursor }) {
      const at = cursor === null ? null : await find(inboxId, cursor.id);
      if (cursor !== null && at === null) return null;
      const upwards = cursor?.side === 'before';
      const values = [inboxId, read, at?.lastAt ?? null, at?.id ?? null, limit + 1];
      const rows = await runOn<Thread>(db.pool, upwards ? threadsBefore : threadsAfter, values);
      return pageOf(rows, limit, upwards);
    },
    async mark(inboxId, id, read) {
      return (await runOn(db.pool, markThread, [inboxId, id, read])).length > 0;
    },
    async emails(threadId, { limit, cursor }) {
      const at = cursor === null ? null : await email(threadId, cursor.id);
      if (cursor !== null && at === null) return null;
      const upwards = cursor?.side === 'before';
      const values = [threadId, at?.createdAt ?? null, at?.id ?? null, limit + 1];
      const found = await runOn<Sized>(db.pool, upwards ? emailsBefore : emailsAfter, values);
      const { entries, hasMore } = pageOf(found, fitting(found, limit), upwards);
      const ids = entries.map(({ id }) => id);
      const rows = await runOn<ThreadEmail>(db.pool, readThreadEmails, [threadId, ids]);
      const byId = new Map(rows.map((row) => [row.id as string, row]));
      return { entries: ids.flatMap((id) => byId.get(id) ?? []), hasMore };
    },
  };
}

/** Whether a text can be the id of a message of a thread. */
export function isThreadEmailId(text: string): boolean {
  return parseId('message', text) !== null || parseId('email', text) !== null;
}

interface Sized {
  readonly id: string;
  readonly bytes: number;
}

/** How many of the messages a page holds: as many as asked for, while they fit; one at the least. */
function fitting(found: readonly Sized[], limit: number): number {
  let bytes = 0;
  const over = found.findIndex((each) => (bytes += each.bytes) > LIMITS.threadPageBytes);
  return over === -1 ? limit : Math.min(limit, Math.max(1, over));
}
