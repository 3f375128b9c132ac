import type { AccountId, Clock, EmailDraft, EmailId, EventType, KeyKind } from '@postrider/domain';
import { newId } from '@postrider/domain';
import type { Database } from './database.ts';
import { mappingUnavailable } from './errors.ts';
import type { Email as EmailRow } from './generated/client.ts';
import { readPage } from './page.ts';
import type { Page, PageRequest } from './page.ts';
import type { Transaction } from './transaction.ts';

export type EmailStatus = 'queued' | 'sent' | 'failed' | 'stored';

export interface Email extends EmailDraft {
  readonly id: EmailId;
  readonly accountId: AccountId;
  readonly kind: KeyKind;
  readonly status: EmailStatus;
  /** What last happened to it: `queued`, `sent`, `failed`, or what the provider reported, as `delivered`. */
  readonly lastEvent: string;
  readonly error: string | null;
  readonly createdAt: Date;
  readonly sentAt: Date | null;
}

export interface EmailStore {
  /**
   * Stores a message and, unless it was sent with a test key, its place in the outbox to the provider: both in
   * one transaction.
   */
  create(accountId: AccountId, kind: KeyKind, draft: EmailDraft): Promise<EmailId>;
  /** Another account's message reads as missing. */
  find(accountId: AccountId, id: EmailId): Promise<Email | null>;
  /** The account's messages without their bodies, the newest first. @returns null when the cursor is none of them. */
  list(accountId: AccountId, request: PageRequest<'email'>): Promise<Page<ListedEmail> | null>;
}

export type ListedEmail = Omit<Email, 'html' | 'text'>;

export function createEmailStore(db: Database, clock: Clock): EmailStore {
  return {
    async create(accountId, kind, draft) {
      const id = newId('email', clock);
      await db.transactions.run((tx) =>
        insertEmail(tx, { id, accountId, kind, draft, createdAt: clock.now() }),
      );
      return id;
    },
    async find(accountId, id) {
      const row = await mappingUnavailable(() => db.prisma.email.findFirst({ where: { id, accountId } }));
      return row === null ? null : emailOf(row);
    },
    async list(accountId, request) {
      const { email } = db.prisma;
      return mappingUnavailable(() =>
        readPage(request, {
          cursor: (id) => email.findFirst({ where: { id, accountId }, select: { createdAt: true } }),
          async read({ where, ...range }) {
            const rows = await email.findMany({
              where: { accountId, ...where },
              ...range,
              omit: { html: true, text: true },
            });
            return rows.map(listedOf);
          },
        }),
      );
    },
  };
}

async function insertEmail(
  tx: Transaction,
  email: { id: EmailId; accountId: AccountId; kind: KeyKind; draft: EmailDraft; createdAt: Date },
): Promise<void> {
  const { draft, kind } = email;
  const live = kind === 'live';
  await tx.client.email.create({
    data: {
      id: email.id,
      accountId: email.accountId,
      kind,
      status: live ? 'queued' : 'stored',
      lastEvent: live ? 'queued' : 'stored',
      from: draft.from,
      to: [...draft.to],
      cc: [...draft.cc],
      bcc: [...draft.bcc],
      replyTo: [...draft.replyTo],
      subject: draft.subject,
      html: draft.html,
      text: draft.text,
      headers: draft.headers,
      createdAt: email.createdAt,
    },
    select: { id: true },
  });
  if (!live) return;
  await tx.client.emailSend.create({ data: { emailId: email.id }, select: { emailId: true } });
  tx.wakeMail();
}

/** `email.soft_bounced` → `soft_bounced`. */
export function lastEventOf(type: EventType): string {
  return type.slice(type.indexOf('.') + 1);
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
    error: row.error,
    createdAt: row.createdAt,
    sentAt: row.sentAt,
  };
}
