import { LIMITS, newId } from '@postrider/domain';
import type {
  AccountId,
  AttachmentId,
  Clock,
  InboxId,
  MailReader,
  MessageId,
  ReceivedAttachment,
  ReceivedBytes,
  ReceivedMessage,
  RoutingRuleId,
  ThreadId,
} from '@postrider/domain';
import { recordAudit } from '../audit/audit.ts';
import type { Actor } from '../audit/audit.ts';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { pageWithin } from '../db/page.ts';
import type { Page, PageRequest } from '../db/page.ts';
import { runIn } from '../db/statement.ts';
import type { Transaction } from '../db/transaction.ts';
import type { Message as MessageRow, MessageAttachment as AttachmentRow } from '../generated/client.ts';
import { recordReception } from './received-message-store.ts';
import { lockInbox } from './sql/inboxes.ts';
import {
  accountMessagesAfter,
  accountMessagesBefore,
  inboxMessagesAfter,
  inboxMessagesBefore,
  readBodies,
  readBodyPiece,
  readRecords,
  sizeOfBody,
} from './sql/read-messages.ts';
import { releaseMessage } from './sql/receive-message.ts';
import { threadOf } from './thread-of.ts';

/** A message with its stored fields, except text and HTML, which may have 10 MiB. */
export interface MessageDetails extends Omit<ReceivedMessage, 'text'> {
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  /** The ids of the References header without brackets, in the order of the header. */
  readonly references: readonly string[];
  /** null: it was never held, or is held now. */
  readonly releasedAt: Date | null;
  /** The id of the raw bytes in the blob store. */
  readonly blob: string;
  readonly attachments: readonly MessageAttachment[];
}

type BodyPart = 'text' | 'html';

interface MessageBodies {
  readonly text: string | null;
  readonly html: string | null;
}

export interface MessageAttachment extends ReceivedAttachment {
  readonly blob: string;
}

export interface MessageFilter {
  /** null: all messages except held ones. */
  readonly status: ReceivedMessage['status'] | null;
  /** null: messages of every inbox, and those without an inbox. */
  readonly inboxId: InboxId | null;
}

/** The bytes behind a link: a raw message or an attachment. */
interface LinkedBytes {
  readonly accountId: AccountId;
  readonly blob: string;
  /** null for the raw message, and for an attachment without a name. */
  readonly filename: string | null;
  /** An attachment's type as its sender wrote it; null for the raw message. */
  readonly contentType: string | null;
}

type ReleaseResult = 'released' | 'not-held' | 'missing';

/** Received mail. A message of another account, or of the other kind of key, reads as missing. */
export type MessageStore = ReturnType<typeof createMessageStore>;

export function createMessageStore(db: Database, clock: Clock) {
  return {
    async find({ accountId, kind }: MailReader, id: MessageId): Promise<MessageDetails | null> {
      const where = { messageId: id };
      // Attachments are read first. If the message still exists afterwards, no attachment was missing.
      const files = await db.prisma.messageAttachment.findMany({ where, orderBy: { position: 'asc' } });
      const row = await db.prisma.message.findFirst({
        where: { id, accountId, kind },
        omit: { text: true, html: true },
      });
      return row === null || !(await inboxExists(db, row.inboxId)) ? null : detailsOf(row, files);
    },
    /** Text and HTML, each cut shortly after `LIMITS.messageBodyBytes`. @returns null when it is deleted. */
    async bodies(id: MessageId): Promise<MessageBodies | null> {
      const [row] = await runOn<MessageBodies>(db.pool, readBodies, [id, LIMITS.messageBodyBytes + 1]);
      return row ?? null;
    },
    /** @returns the bytes of a body in UTF-8; null when the message has no such body, or is deleted. */
    async bodySize(id: MessageId, part: BodyPart): Promise<number | null> {
      const [row] = await runOn<{ size: number | null }>(db.pool, sizeOfBody, [id, part]);
      return row?.size ?? null;
    },
    /**
     * Reads at most `bytesMax` bytes of a body in UTF-8. They may begin and end within a character.
     *
     * @param start number of bytes to skip. @returns null when the message is deleted.
     */
    async bodyPiece(id: MessageId, part: BodyPart, start: number, bytesMax: number): Promise<Buffer | null> {
      const values = [id, part, start + 1, bytesMax];
      const [row] = await runOn<{ piece: Buffer | null }>(db.pool, readBodyPiece, values);
      return row?.piece ?? null;
    },
    /**
     * The newest first. A page ends early when its messages would exceed `LIMITS.eventPageBytes`.
     *
     * @returns null when the cursor is not a message of the reader.
     */
    async list(
      reader: MailReader,
      filter: MessageFilter,
      request: PageRequest<'message'>,
    ): Promise<Page<ReceivedMessage> | null> {
      return list(db, reader, filter, request);
    },
    /**
     * Adds a held message to its thread and records its event. When calls run at the same time, one releases
     * it.
     */
    async release(reader: MailReader, id: MessageId, by: Actor): Promise<ReleaseResult> {
      return db.transactions.run((tx) => release(tx, clock, { reader, id, by }));
    },
    /** The link is the permission, so no account is checked. @returns null when the bytes are deleted. */
    async findLinked({ messageId, attachmentId }: ReceivedBytes): Promise<LinkedBytes | null> {
      const file =
        attachmentId === null
          ? { blob: null, filename: null, contentType: null }
          : await db.prisma.messageAttachment.findFirst({
              where: { id: attachmentId, messageId },
              select: { blob: true, filename: true, contentType: true },
            });
      if (file === null) return null;
      const message = await db.prisma.message.findUnique({
        where: { id: messageId },
        select: { accountId: true, blob: true, inboxId: true },
      });
      if (message === null || !(await inboxExists(db, message.inboxId))) return null;
      return { ...file, accountId: message.accountId as AccountId, blob: file.blob ?? message.blob };
    },
  };
}

/** Check this after reading a message: the rows of a deleted inbox stay until a relay deletes them. */
async function inboxExists({ prisma }: Database, inboxId: string | null): Promise<boolean> {
  if (inboxId === null) return true;
  return (await prisma.inbox.count({ where: { id: inboxId } })) > 0;
}

const NOT_HELD = ['received', 'released'] as const;

interface Sized {
  readonly id: string;
  readonly bytes: number;
}

async function list(
  db: Database,
  { accountId, kind }: MailReader,
  { status, inboxId }: MessageFilter,
  { limit, cursor }: PageRequest<'message'>,
): Promise<Page<ReceivedMessage> | null> {
  const upwards = cursor?.side === 'before';
  let position: { readonly at: Date | string; readonly id: string } = {
    at: upwards ? '-infinity' : 'infinity',
    id: '',
  };
  if (cursor !== null) {
    const where = { id: cursor.id, accountId, kind };
    const row = await db.prisma.message.findFirst({ where, select: { createdAt: true, inboxId: true } });
    if (row === null || !(await inboxExists(db, row.inboxId))) return null;
    position = { at: row.createdAt, id: cursor.id };
  }
  const statuses = status === null ? NOT_HELD : [status];
  const values = [accountId, kind, statuses, position.at, position.id, limit + 1];
  const rows = await (inboxId === null
    ? runOn<Sized>(db.pool, upwards ? accountMessagesBefore : accountMessagesAfter, values)
    : runOn<Sized>(db.pool, upwards ? inboxMessagesBefore : inboxMessagesAfter, [...values, inboxId]));
  const { entries, hasMore } = pageWithin(rows, { limit, bytesMax: LIMITS.eventPageBytes }, upwards);
  return { entries: await recordsOf(db, entries), hasMore };
}

/**
 * Limits for `read-records`. It reads one character more than a record may have bytes, so a longer text is
 * recognised.
 */
const RECORD_LIMITS = [LIMITS.recordTextBytes + 1, LIMITS.recordEntries, LIMITS.recordNameLength] as const;

/** Keeps the order. Messages that were deleted meanwhile are left out. */
async function recordsOf(
  db: Database,
  messages: readonly { readonly id: string }[],
): Promise<ReceivedMessage[]> {
  const ids = messages.map(({ id }) => id);
  const records = await runOn<ReceivedMessage>(db.pool, readRecords, [ids, ...RECORD_LIMITS]);
  const byId = new Map(records.map((record): [string, ReceivedMessage] => [record.id, record]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

interface Release {
  readonly reader: MailReader;
  readonly id: MessageId;
  readonly by: Actor;
}

async function release(tx: Transaction, clock: Clock, { reader, id, by }: Release): Promise<ReleaseResult> {
  const { accountId, kind } = reader;
  const held = await tx.client.message.findFirst({
    where: { id, accountId, kind },
    select: {
      status: true,
      heldReason: true,
      inboxId: true,
      ruleId: true,
      messageId: true,
      inReplyTo: true,
      references: true,
    },
  });
  if (held === null) return 'missing';
  if (held.status !== 'held') return 'not-held';
  const inboxId = held.inboxId as InboxId | null;
  const locked = await runIn(tx.client, lockInbox, [inboxId, held.ruleId]);
  // The inbox was deleted, so the message counts as deleted, although its row may stay for a while. A deleted
  // rule keeps its messages.
  if (inboxId !== null && locked.length === 0) return 'missing';
  const joined = inboxId === null ? null : await threadOf(tx, inboxId, held);
  const startsThread = inboxId !== null && joined === null;
  const newThread = startsThread ? newId('thread', clock) : null;
  const released = await runIn(tx.client, releaseMessage, [id, joined, newThread]);
  if (released.length === 0) return (await exists(tx, id)) ? 'not-held' : 'missing';
  const [record] = await runIn<ReceivedMessage>(tx.client, readRecords, [[id], ...RECORD_LIMITS]);
  if (record === undefined) throw new Error(`${id} was released and is gone`);
  await recordReception(tx, clock, record);
  const before = { held_reason: held.heldReason };
  await recordAudit(tx, by, { action: 'message.release', accountId, target: id, count: 1, before });
  return 'released';
}

async function exists(tx: Transaction, id: MessageId): Promise<boolean> {
  return (await tx.client.message.findUnique({ where: { id }, select: { id: true } })) !== null;
}

function detailsOf(row: Omit<MessageRow, 'text' | 'html'>, files: readonly AttachmentRow[]): MessageDetails {
  const { spf, dkim, dmarc } = row;
  return {
    id: row.id as MessageId,
    accountId: row.accountId as MessageDetails['accountId'],
    kind: row.kind,
    status: row.status,
    heldReason: row.heldReason as MessageDetails['heldReason'],
    inboxId: row.inboxId as InboxId | null,
    threadId: row.threadId as ThreadId | null,
    ruleId: row.ruleId as RoutingRuleId | null,
    messageId: row.messageId,
    inReplyTo: row.inReplyTo,
    references: row.references,
    from: row.from,
    to: row.to,
    cc: row.cc,
    replyTo: row.replyTo,
    receivedFor: row.receivedFor,
    subject: row.subject,
    headers: row.headers as unknown as MessageDetails['headers'],
    auth: { spf, dkim, dmarc } as MessageDetails['auth'],
    receivedAt: row.createdAt,
    releasedAt: row.releasedAt,
    size: row.size,
    blob: row.blob,
    automatic: row.automatic,
    complete: row.complete,
    attachments: files.map(attachmentOf),
  };
}

function attachmentOf({
  id,
  filename,
  contentType,
  contentId,
  size,
  blob,
}: AttachmentRow): MessageAttachment {
  return { id: id as AttachmentId, filename, contentType, contentId, size, blob };
}
