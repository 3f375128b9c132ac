import {
  dataOfReported,
  draftOfReported,
  lastEventAfter,
  lastEventsThatStay,
  newEvents,
  recordEvent,
} from '@postrider/domain';
import type { AccountId, Clock, EmailId, KeyKind } from '@postrider/domain';
import type { Database } from './database.ts';
import { recordCause } from './record-cause.ts';
import { lockNotifiedEmail } from './sql/lock-notified-email.ts';
import { takeNotification } from './sql/take-notification.ts';
import { takeReport } from './sql/take-report.ts';
import { runIn } from './statement.ts';
import { suppressBlamed } from './suppress-blamed.ts';
import type { Transaction } from './transaction.ts';
import { keepForHandOver, waitForHandOver } from './unclaimed-notifications.ts';
import type { ReportedChange } from './unclaimed-notifications.ts';

/** What the provider has reported of one message. */
export interface ProviderReport extends ReportedChange {
  /** The provider's id of the notification itself: the same on every repetition of it. */
  readonly messageId: string;
  /** Whose notification it is: our id of the message decides, else the provider's, else ours in the message's header. */
  readonly emailId: string | null;
  readonly providerMessageId: string | null;
  readonly writtenEmailId: string | null;
}

/**
 * `unknown-mail`: of somebody else, or of a hand-over that is not committed yet. `test-mail`: sent with a test key, so
 * nothing is told of it; it was never handed over either.
 */
export type ReportOutcome = 'recorded' | 'repeated' | 'unknown-mail' | 'test-mail';

export interface ProviderNotificationStore {
  /**
   * Takes a report in: its event, what is last known of the message, and the suppressed addresses, in one transaction
   * with the notification's id. One that was taken before changes nothing. One of unknown mail is not taken: it is kept
   * for as long as the mail may yet become known by the provider's id, and then taken in by whatever makes it known.
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
    record: async (report) => (await recordAtOnce(db, clock, report)) ?? recordLocked(db, clock, report),
  };
}

/**
 * One statement: for a report that names our id and suppresses nobody, as those of deliveries, opens and clicks do.
 *
 * @returns null when the report is none of these, no message has the id, or another has locked it.
 */
async function recordAtOnce(
  db: Database,
  clock: Clock,
  { emailId, messageId, event, suppress }: ProviderReport,
): Promise<ReportOutcome | null> {
  if (emailId === null || suppress.length > 0 || event.type === 'email.failed') return null;
  const events = newEvents(event.type, [dataOfReported(event, emailId as EmailId)], clock);
  const taken = await recordCause<{ kind: KeyKind; taken: boolean }>(
    db,
    takeReport,
    { accountId: null, inboundSubject: null, ...events },
    [emailId, messageId, lastEventAfter('', event.type), lastEventsThatStay(event.type)],
  );
  if (taken === undefined) return null;
  if (!taken.taken) return 'repeated';
  return taken.kind === 'test' ? 'test-mail' : 'recorded';
}

/** Locks, then sees what their holders have committed: a kept report, a hand-over that makes the message known. */
async function recordLocked(db: Database, clock: Clock, report: ProviderReport): Promise<ReportOutcome> {
  return db.transactions.run(async (tx) => {
    const email = (await emailOf(tx, report)) ?? (await emailJustHandedOver(tx, report));
    if (email === undefined) return 'unknown-mail';
    const taken = await runIn(tx.client, takeNotification, [report.messageId]);
    if (taken.length === 0) return 'repeated';
    if (email.kind === 'test') return 'test-mail';
    await apply(tx, report, email, clock);
    return 'recorded';
  });
}

async function emailOf(tx: Transaction, report: ProviderReport): Promise<NotifiedEmailRow | undefined> {
  const { emailId, providerMessageId, writtenEmailId } = report;
  const ids = [emailId, providerMessageId, writtenEmailId];
  const [email] = await runIn<NotifiedEmailRow>(tx.client, lockNotifiedEmail, ids);
  return email;
}

/** Of a report that has met no message: the message, if it becomes known at this very moment; else the report is kept. */
async function emailJustHandedOver(
  tx: Transaction,
  report: ProviderReport,
): Promise<NotifiedEmailRow | undefined> {
  const { messageId, providerMessageId } = report;
  if (providerMessageId === null) return undefined;
  await waitForHandOver(tx, providerMessageId);
  const email = await emailOf(tx, report);
  if (email === undefined) await keepForHandOver(tx, { messageId, providerMessageId }, report);
  return email;
}

async function apply(
  tx: Transaction,
  { event, suppress }: ReportedChange,
  email: NotifiedEmailRow,
  clock: Clock,
): Promise<void> {
  const { id, account_id: accountId, from_address: from, subject } = email;
  const lastEvent = lastEventAfter(email.last_event, event.type);
  const failure = event.type === 'email.failed' ? { status: 'failed' as const, error: event.error } : {};
  await tx.client.email.update({ where: { id }, data: { lastEvent, ...failure }, select: { id: true } });
  await suppressBlamed(tx, suppress, { id, accountId }, clock);
  await recordEvent(tx, draftOfReported(event, { id, accountId, from, subject }), clock);
}
