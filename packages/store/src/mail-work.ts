import { recordEvent } from '@postrider/domain';
import type {
  AccountId,
  Clock,
  EmailDraft,
  EmailId,
  EventDraft,
  ProviderNotification,
} from '@postrider/domain';
import type { Database } from './database.ts';
import { runOn } from './database.ts';
import { lastEventOf } from './emails.ts';
import { retryEmail } from './sql/retry-email.ts';
import { takeEmail } from './sql/take-email.ts';
import type { Transaction } from './transaction.ts';

/** A message by the hand-over a job was made for. */
export interface MailHandOver {
  readonly emailId: EmailId;
  readonly claim: number;
}

/** A message in a worker's hands. */
export interface TakenEmail extends MailHandOver {
  readonly accountId: AccountId;
  readonly attemptsMade: number;
  readonly draft: EmailDraft;
  readonly createdAt: Date;
  readonly earlyMs: number;
}

/** A worker's view of the mail. Each end returns false when the message was no longer the caller's. */
export interface MailWork {
  take(job: MailHandOver, leaseSeconds: number): Promise<TakenEmail | null>;
  /** The provider accepted: the message is sent and `email.sent` exists, in one transaction. */
  sent(email: TakenEmail, answer: AcceptedAnswer): Promise<boolean>;
  /** The service gave up: `email.failed` exists, in the same transaction. */
  failed(email: TakenEmail, error: string): Promise<boolean>;
  retry(email: TakenEmail, delayMs: number): Promise<boolean>;
}

export interface AcceptedAnswer {
  readonly providerMessageId: string | null;
  readonly notifications: readonly ProviderNotification[];
}

interface TakenEmailRow {
  readonly id: EmailId;
  readonly claim: number;
  readonly attempts: number;
  readonly account_id: AccountId;
  readonly from_address: string;
  readonly to_addresses: string[];
  readonly cc_addresses: string[];
  readonly bcc_addresses: string[];
  readonly reply_to_addresses: string[];
  readonly subject: string;
  readonly html: string | null;
  readonly text: string | null;
  readonly headers: Record<string, string>;
  readonly created_at: Date;
  readonly early_ms: number;
}

export function createMailWork(db: Database, clock: Clock): MailWork {
  return {
    async take(job, leaseSeconds) {
      const [row] = await runOn<TakenEmailRow>(db.pool, takeEmail, [job.emailId, job.claim, leaseSeconds]);
      return row === undefined ? null : takenOf(row);
    },
    async sent(email, answer) {
      return endSend(db, email, async (tx) => {
        const lastEvent = lastEventOf(answer.notifications.at(-1)?.type ?? 'email.sent');
        const sentAt = clock.now();
        const data = {
          status: 'sent',
          lastEvent,
          sentAt,
          providerMessageId: answer.providerMessageId,
        } as const;
        await tx.client.email.update({ where: { id: email.emailId }, data, select: { id: true } });
        await recordEvent(tx, { type: 'email.sent', ...resultOf(email, null) }, clock);
        for (const notification of answer.notifications) {
          await recordEvent(tx, notificationEvent(email, notification, sentAt), clock);
        }
      });
    },
    async failed(email, error) {
      return endSend(db, email, async (tx) => {
        const data = { status: 'failed', lastEvent: 'failed', error } as const;
        await tx.client.email.update({ where: { id: email.emailId }, data, select: { id: true } });
        await recordEvent(tx, { type: 'email.failed', ...resultOf(email, error) }, clock);
      });
    },
    async retry(email, delayMs) {
      const rows = await runOn(db.pool, retryEmail, [email.emailId, email.claim, delayMs]);
      return rows.length > 0;
    },
  };
}

/** Ends a send in one transaction, if its claim is still the one held. */
async function endSend(
  db: Database,
  email: TakenEmail,
  work: (tx: Transaction) => Promise<void>,
): Promise<boolean> {
  return db.transactions.run(async (tx) => {
    const { emailId, claim } = email;
    const { count } = await tx.client.emailSend.deleteMany({ where: { emailId, claim } });
    if (count === 0) return false;
    await work(tx);
    return true;
  });
}

function resultOf<E extends string | null>(email: TakenEmail, error: E) {
  const { from, subject } = email.draft;
  return { accountId: email.accountId, data: { email_id: email.emailId, from, subject, error } };
}

function notificationEvent(email: TakenEmail, notification: ProviderNotification, at: Date): EventDraft {
  return {
    type: notification.type,
    accountId: email.accountId,
    data: {
      email_id: email.emailId,
      recipients: [...notification.recipients],
      occurred_at: at.toISOString(),
      detail: notification.detail,
    },
  };
}

function takenOf(row: TakenEmailRow): TakenEmail {
  return {
    emailId: row.id,
    claim: row.claim,
    accountId: row.account_id,
    attemptsMade: row.attempts,
    draft: {
      from: row.from_address,
      to: row.to_addresses,
      cc: row.cc_addresses,
      bcc: row.bcc_addresses,
      replyTo: row.reply_to_addresses,
      subject: row.subject,
      html: row.html,
      text: row.text,
      headers: row.headers,
    },
    createdAt: row.created_at,
    earlyMs: row.early_ms,
  };
}
