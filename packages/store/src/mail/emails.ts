import type {
  AccountId,
  Clock,
  EmailDraft,
  EmailId,
  EmailTag,
  KeyKind,
  MailReader,
  TopicId,
} from '@postrider/domain';
import { runOn } from '../db/database.ts';
import type { Database } from '../db/database.ts';
import { mappingUnavailable } from '../db/errors.ts';
import { readPage } from '../db/page.ts';
import type { Page, PageRequest } from '../db/page.ts';
import type { Email as EmailRow } from '../generated/client.ts';
import { recallAnswer, storeMail } from './send-emails.ts';
import type { Idempotency, Recalled, SendOutcome, SendRequest } from './send-request.ts';
import { testEmailsAfter, testEmailsBefore } from './sql/list-test-emails.ts';

export type EmailStatus = 'queued' | 'sent' | 'failed' | 'stored';

/** A message without its attachments, which only the provider is given. */
export interface Email extends Omit<EmailDraft, 'attachments'> {
  readonly id: EmailId;
  readonly accountId: AccountId;
  readonly kind: KeyKind;
  readonly status: EmailStatus;
  /** What last happened to it: `queued`, `sent`, `failed`, or what the provider reported, as `delivered`. */
  readonly lastEvent: string;
  readonly error: string | null;
  /** By which the provider knows it; null when it says none, or has not accepted it. */
  readonly providerMessageId: string | null;
  readonly createdAt: Date;
  readonly sentAt: Date | null;
}

export interface EmailStore {
  /** Stores messages and, unless they are a test key's, their places in the outbox to the provider. */
  send(request: SendRequest): Promise<SendOutcome>;
  /** What a repetition is told, without sending anything. @returns null when the key is unknown. */
  recall(sender: MailReader, idempotency: Idempotency): Promise<Recalled | null>;
  /** Which of the topics are none of the account's. */
  unknownTopics(accountId: AccountId, ids: readonly TopicId[]): Promise<TopicId[]>;
  /** A message that the reader may not see reads as missing. */
  find(reader: MailReader, id: EmailId): Promise<Email | null>;
  /** The reader's messages without their bodies, the newest first. @returns null when the cursor is none of them. */
  list(reader: MailReader, request: PageRequest<'email'>): Promise<Page<ListedEmail> | null>;
}

export type ListedEmail = Omit<Email, 'html' | 'text'>;

export function createEmailStore(db: Database, clock: Clock): EmailStore {
  return {
    send: (request) => storeMail(db, clock, request),
    recall: (sender, idempotency) => recallAnswer(db, sender, idempotency),
    async unknownTopics(accountId, ids) {
      if (ids.length === 0) return [];
      const rows = await mappingUnavailable(() =>
        db.prisma.topic.findMany({ where: { accountId, id: { in: [...ids] } }, select: { id: true } }),
      );
      const known = new Set(rows.map((row) => row.id));
      return ids.filter((id) => !known.has(id));
    },
    async find(reader, id) {
      const row = await mappingUnavailable(() =>
        db.prisma.email.findFirst({ where: { id, ...seenBy(reader) } }),
      );
      return row === null ? null : emailOf(row);
    },
    list: (reader, request) =>
      reader.kind === 'test' ? listOfTestKey(db, reader, request) : listOfLiveKey(db, reader, request),
  };
}

async function listOfLiveKey(
  db: Database,
  reader: MailReader,
  request: PageRequest<'email'>,
): Promise<Page<ListedEmail> | null> {
  return mappingUnavailable(() =>
    readPage(request, {
      cursor: (id) => createdAtOf(db, reader, id),
      async read({ where, ...range }) {
        const rows = await db.prisma.email.findMany({
          where: { accountId: reader.accountId, ...where },
          ...range,
          omit: { html: true, text: true },
        });
        return rows.map(listedOf);
      },
    }),
  );
}

async function listOfTestKey(
  db: Database,
  reader: MailReader,
  request: PageRequest<'email'>,
): Promise<Page<ListedEmail> | null> {
  return mappingUnavailable(() =>
    readPage(request, {
      cursor: (id) => createdAtOf(db, reader, id),
      read: ({ take }, { cursor, upwards }) =>
        runOn<ListedEmail>(db.pool, upwards ? testEmailsBefore : testEmailsAfter, [
          reader.accountId,
          cursor?.createdAt ?? 'infinity',
          cursor?.id ?? '',
          take,
        ]),
    }),
  );
}

function createdAtOf({ prisma }: Database, reader: MailReader, id: EmailId) {
  return prisma.email.findFirst({ where: { id, ...seenBy(reader) }, select: { createdAt: true } });
}

function seenBy({ accountId, kind }: MailReader) {
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
