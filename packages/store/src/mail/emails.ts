import type {
  AccountId,
  Clock,
  EmailDraft,
  EmailId,
  EmailTag,
  KeyKind,
  MailReader,
  SentAttachment,
  TopicId,
} from '@postrider/domain';
import { runOn } from '../db/database.ts';
import type { Database } from '../db/database.ts';
import { readPage } from '../db/page.ts';
import type { Page, PagePosition, PageRange, PageRequest } from '../db/page.ts';
import { statement } from '../db/statement.ts';
import type { Statement } from '../db/statement.ts';
import type { Email as EmailRow } from '../generated/client.ts';
import { recallAnswer, storeMail } from './send-emails.ts';
import type { Idempotency, Recalled, SendOutcome, SendRequest } from './send-request.ts';

/**
 * A page of an account's mail of test keys, without bodies. There may be few test rows among many live ones.
 *
 * Guarantee: it reads as many rows as the page has, whatever the table statistics say.
 * `greatest(e.account_id, '')` equals the account, and only one index is on this expression. With the plain
 * column, and statistics that know only live mail, Postgres may read the index of all mail.
 *
 * $1 account, $2 and $3 time and id of the cursor, $4 number of messages.
 */
function pageOfTestEmails(name: string, beyond: '<' | '>', order: 'desc' | 'asc'): Statement {
  return statement(name)`
    select e.id, e.account_id as "accountId", e.kind, e.status, e.last_event as "lastEvent", e.from_address as "from",
           e.to_addresses as "to", e.cc_addresses as cc, e.bcc_addresses as bcc, e.reply_to_addresses as "replyTo", e.subject,
           e.headers, e.tags, e.topic_id as "topicId", e.error, e.provider_message_id as "providerMessageId",
           e.created_at as "createdAt", e.sent_at as "sentAt"
    from emails e
    where greatest(e.account_id, '') = $1 and e.kind = 'test' and (e.created_at, e.id) ${beyond} ($2::timestamptz, $3::text)
    order by e.created_at ${order}, e.id ${order}
    limit $4`;
}

const TEST_EMAILS_AFTER = pageOfTestEmails('test-emails-after', '<', 'desc');
const TEST_EMAILS_BEFORE = pageOfTestEmails('test-emails-before', '>', 'asc');

/**
 * Reads what is known about a message's attachments. It reads no content: a stored value has its size in its
 * header. $1 email.
 */
const LIST_ATTACHMENTS = statement('list-attachments')`
    select a.position, a.filename, octet_length(a.content) as size, a.content_type as "contentType",
           a.content_id as "contentId"
    from email_attachments a where a.email_id = $1 order by a.position`;

/**
 * Finds an attachment without its content, as `list-attachments` does. $1 email, $2 position.
 */
const FIND_LINKED = statement('find-linked-attachment')`
    select (select e.account_id from emails e where e.id = $1) as "accountId", a.filename,
           a.content_type as "contentType", octet_length(a.content) as size
    from email_attachments a where a.email_id = $1 and a.position = $2::int`;

/**
 * Reads a part of a content. The storage of the column is external, so Postgres reads no other part.
 *
 * $1 email, $2 position, $3 first byte, counted from 1, $4 maximum number of bytes.
 */
const READ_CONTENT = statement('read-attachment-piece')`
    select substring(a.content from $3::int for $4::int) as piece
    from email_attachments a where a.email_id = $1 and a.position = $2::int`;

export type EmailStatus = 'queued' | 'sent' | 'failed' | 'stored';

/** A message without its attachments: `attachments` lists these. */
export interface Email extends Omit<EmailDraft, 'attachments'> {
  readonly id: EmailId;
  readonly accountId: AccountId;
  readonly kind: KeyKind;
  readonly status: EmailStatus;
  /** `queued`, `sent`, `failed`, or the provider's last report, for example `delivered`. */
  readonly lastEvent: string;
  readonly error: string | null;
  /** The provider's id. null: the provider gave none, or has not accepted the message. */
  readonly providerMessageId: string | null;
  readonly createdAt: Date;
  readonly sentAt: Date | null;
}

/** An attachment of a sent message, without its content. */
export interface ListedAttachment {
  /** Its index in the message. */
  readonly position: number;
  readonly filename: string;
  /** Bytes. */
  readonly size: number;
  /** null: it follows from the filename. */
  readonly contentType: string | null;
  readonly contentId: string | null;
}

/** An attachment of a sent message, to which a link leads. */
export interface LinkedAttachment extends Pick<ListedAttachment, 'filename' | 'contentType' | 'size'> {
  readonly accountId: AccountId;
}

export type ListedEmail = Omit<Email, 'html' | 'text'>;

export type EmailStore = ReturnType<typeof createEmailStore>;

export function createEmailStore(db: Database, clock: Clock) {
  return {
    /** Stores messages, and queues the messages of live keys for the provider. */
    async send(request: SendRequest): Promise<SendOutcome> {
      return storeMail(db, clock, request);
    },
    /** Reads the answer of an earlier request. Sends nothing. @returns null for a new idempotency key. */
    async recall(sender: MailReader, idempotency: Idempotency): Promise<Recalled | null> {
      return recallAnswer(db, sender, idempotency);
    },
    /** @returns the ids that are not topics of the account. */
    async unknownTopics(accountId: AccountId, ids: readonly TopicId[]): Promise<TopicId[]> {
      if (ids.length === 0) return [];
      const rows = await db.prisma.topic.findMany({
        where: { accountId, id: { in: [...ids] } },
        select: { id: true },
      });
      const known = new Set(rows.map((row) => row.id));
      return ids.filter((id) => !known.has(id));
    },
    /** A message that the reader may not see reads as missing. */
    async find(reader: MailReader, id: EmailId): Promise<Email | null> {
      const row = await db.prisma.email.findFirst({ where: { id, ...visibleTo(reader) } });
      return row === null ? null : emailOf(row);
    },
    /** In the order of the message. @returns null when the reader may not see the message. */
    async attachments(reader: MailReader, id: EmailId): Promise<ListedAttachment[] | null> {
      const where = { id, ...visibleTo(reader) };
      if ((await db.prisma.email.findFirst({ where, select: { id: true } })) === null) return null;
      return runOn<ListedAttachment>(db.pool, LIST_ATTACHMENTS, [id]);
    },
    /** The link is the permission, so no account is checked. @returns null when the content is deleted. */
    async findLinked({ emailId, position }: SentAttachment): Promise<LinkedAttachment | null> {
      const [found] = await runOn<LinkedAttachment>(db.pool, FIND_LINKED, [emailId, position]);
      return found ?? null;
    },
    /**
     * Reads at most `bytesMax` bytes of an attachment.
     *
     * @param start number of bytes before the first. @returns null when the content is deleted.
     */
    async attachmentPiece(
      { emailId, position }: SentAttachment,
      start: number,
      bytesMax: number,
    ): Promise<Buffer | null> {
      const values = [emailId, position, start + 1, bytesMax];
      const [row] = await runOn<{ piece: Buffer }>(db.pool, READ_CONTENT, values);
      return row?.piece ?? null;
    },
    /**
     * The reader's messages without bodies, the newest first. @returns null when the cursor is not such a
     * message.
     */
    async list(reader: MailReader, request: PageRequest<'email'>): Promise<Page<ListedEmail> | null> {
      return readPage(request, {
        positionOf: (id) =>
          db.prisma.email.findFirst({ where: { id, ...visibleTo(reader) }, select: { createdAt: true } }),
        read: (range, position) =>
          reader.kind === 'test'
            ? pageOfTestKey(db, reader, range, position)
            : pageOfLiveKey(db, reader, range),
      });
    },
  };
}

async function pageOfLiveKey(
  { prisma }: Database,
  { accountId }: MailReader,
  { where, ...range }: PageRange,
): Promise<ListedEmail[]> {
  const rows = await prisma.email.findMany({
    where: { accountId, ...where },
    ...range,
    omit: { html: true, text: true },
  });
  return rows.map(listedOf);
}

async function pageOfTestKey(
  { pool }: Database,
  { accountId }: MailReader,
  { take }: PageRange,
  { cursor, upwards }: PagePosition,
): Promise<ListedEmail[]> {
  const page = upwards ? TEST_EMAILS_BEFORE : TEST_EMAILS_AFTER;
  return runOn(pool, page, [accountId, cursor?.createdAt ?? 'infinity', cursor?.id ?? '', take]);
}

function visibleTo({ accountId, kind }: MailReader) {
  return kind === 'test' ? { accountId, kind } : { accountId };
}

function emailOf(row: EmailRow): Email {
  return { ...listedOf(row), html: row.html, text: row.text };
}

function listedOf(row: Omit<EmailRow, 'html' | 'text'>): ListedEmail {
  return {
    id: row.id as EmailId,
    accountId: row.accountId as AccountId,
    kind: row.kind,
    status: row.status,
    lastEvent: row.lastEvent,
    from: row.from,
    to: row.to,
    cc: row.cc,
    bcc: row.bcc,
    replyTo: row.replyTo,
    subject: row.subject,
    headers: row.headers as Record<string, string>,
    tags: row.tags as unknown as EmailTag[],
    topicId: row.topicId as TopicId | null,
    error: row.error,
    providerMessageId: row.providerMessageId,
    createdAt: row.createdAt,
    sentAt: row.sentAt,
  };
}
