import { lastEventAfter, recordEvent } from '@postrider/domain';
import type { AccountId, BlamedAddress, Clock, EmailId, EventDraft, KeyKind } from '@postrider/domain';
import type { Database } from './database.ts';
import { lockNotifiedEmail } from './sql/lock-notified-email.ts';
import { takeNotification } from './sql/take-notification.ts';
import { runIn } from './statement.ts';
import { suppressBlamed } from './suppress-blamed.ts';
import type { Transaction } from './transaction.ts';

/** The message that a notification is about, as far as its event tells of it. */
export interface NotifiedEmail {
  readonly id: EmailId;
  readonly accountId: AccountId;
  readonly from: string;
  readonly subject: string;
}

/** What the provider has reported of one message. */
export interface ProviderReport {
  /** The provider's id of the notification itself: the same on every repetition of it. */
  readonly messageId: string;
  /** Whose notification it is: our id of the message decides, else the provider's. */
  readonly emailId: string | null;
  readonly providerMessageId: string | null;
  /** Nothing more may be sent to them. */
  readonly suppress: readonly BlamedAddress[];
  readonly eventOf: (email: NotifiedEmail) => EventDraft;
}

/** `test-mail`: sent with a test key, so nothing is told of it; it was never handed over either. */
export type ReportOutcome = 'recorded' | 'repeated' | 'unknown-mail' | 'test-mail';

export interface ProviderNotificationStore {
  /**
   * Takes a report in: its event, what is last known of the message, and the suppressed addresses, in one transaction
   * with the notification's id. One that was taken before changes nothing.
   *
   * @throws StoreUnavailableError; then nothing has changed, or all of it and the repetition will change nothing.
   */
  record(report: ProviderReport): Promise<ReportOutcome>;
}

interface NotifiedEmailRow {
  readonly id: EmailId;
  readonly account_id: AccountId;
  readonly kind: KeyKind;
  readonly from_address: string;
  readonly subject: string;
  readonly last_event: string;
}

export function createProviderNotificationStore(db: Database, clock: Clock): ProviderNotificationStore {
  return {
    record: (report) =>
      db.transactions.run(async (tx) => {
        const { messageId, emailId, providerMessageId } = report;
        const taken = await runIn(tx.client, takeNotification, [messageId]);
        if (taken.length === 0) return 'repeated';
        const [email] = await runIn<NotifiedEmailRow>(tx.client, lockNotifiedEmail, [
          emailId,
          providerMessageId,
        ]);
        if (email === undefined) return 'unknown-mail';
        if (email.kind === 'test') return 'test-mail';
        await apply(tx, report, email, clock);
        return 'recorded';
      }),
  };
}

async function apply(
  tx: Transaction,
  report: ProviderReport,
  email: NotifiedEmailRow,
  clock: Clock,
): Promise<void> {
  const { id, account_id: accountId, from_address: from, subject } = email;
  const draft = report.eventOf({ id, accountId, from, subject });
  const lastEvent = lastEventAfter(email.last_event, draft.type);
  const failure = draft.type === 'email.failed' ? { status: 'failed' as const, error: draft.data.error } : {};
  await tx.client.email.update({ where: { id }, data: { lastEvent, ...failure }, select: { id: true } });
  await suppressBlamed(tx, report.suppress, { id, accountId }, clock);
  await recordEvent(tx, draft, clock);
}
