import {
  lastEventAfter,
  lastEventsAtLeast,
  newEvents,
  reportedContent,
  reportedEventDraft,
} from '@postrider/domain';
import type { Clock, EmailId, EventDraft, KeyKind, ReportedEmail, WebhookId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { recordBehindLocks, recordCause } from '../db/record-cause.ts';
import { eventValues } from '../db/sql/event-ctes.ts';
import type { EventsOfCause } from '../db/sql/event-ctes.ts';
import { run, runForRow } from '../db/statement.ts';
import type { Queryable } from '../db/statement.ts';
import { lockNotifiedEmail, takeReport } from './sql/provider-reports.ts';
import { suppressionValues } from './suppress-blamed.ts';
import { keepUntilAcceptance, waitForAcceptance } from './unclaimed-notifications.ts';
import type { ReportedChange } from './unclaimed-notifications.ts';

/** A notification of the provider about one message, and the change that it reports. */
export interface ProviderReport extends ReportedChange {
  /** The provider's id of the notification itself. It is the same on every repetition. */
  readonly notificationId: string;
  /**
   * Our id of the message, from a tag that the provider sends back. If it names no message,
   * `providerMessageId` decides, then `writtenEmailId`.
   */
  readonly emailId: string | null;
  readonly providerMessageId: string | null;
  /** Our id of the message, from its header Message-ID. */
  readonly writtenEmailId: string | null;
}

/**
 * `unknown-mail`: the message is not ours, or the provider's id of the message is not committed yet.
 * `test-mail`: the message is of a test key. Such a message has no events, and never goes to the provider:
 * the notification names an id that is wrong.
 */
export type ReportOutcome = 'recorded' | 'repeated' | 'unknown-mail' | 'test-mail';

interface TakenReport {
  readonly kind: KeyKind;
  /** False: the notification was recorded before. */
  readonly taken: boolean;
  readonly webhooks: readonly WebhookId[];
}

export type ProviderNotificationStore = ReturnType<typeof createProviderNotificationStore>;

export function createProviderNotificationStore(db: Database, clock: Clock) {
  return {
    /**
     * Records a report: one transaction writes its event, the last event of the message, the suppressed
     * addresses, and the id of the notification. A notification that was recorded before changes nothing.
     *
     * A report that fits no known message is stored, if it has a `providerMessageId`. The transaction that
     * later stores this `providerMessageId` for a message records the report.
     *
     * @throws StoreUnavailableError; then everything is recorded, or nothing. A repetition is safe.
     */
    async record(report: ProviderReport): Promise<ReportOutcome> {
      const result = (await recordAtOnce(db, clock, report)) ?? (await recordLocked(db, clock, report));
      if (result === undefined) return 'unknown-mail';
      if (!result.taken) return 'repeated';
      return result.kind === 'test' ? 'test-mail' : 'recorded';
    },
  };
}

/**
 * Records a report with one statement. This needs our id, and an event that has no fields of the message.
 *
 * @returns undefined when one statement cannot record it, no message has the id, or the message is locked.
 */
async function recordAtOnce(
  db: Database,
  clock: Clock,
  report: ProviderReport,
): Promise<TakenReport | undefined> {
  const { emailId, event } = report;
  if (emailId === null || event.type === 'email.failed') return undefined;
  const draft = reportedContent(event, emailId as EmailId);
  return recordCause<TakenReport>(
    db,
    takeReport,
    eventOf(draft, clock),
    reportValues(report, emailId, clock),
  );
}

/**
 * Takes the locks first. Then it sees the rows that their last holders committed, such as the provider's id
 * of the message.
 *
 * @returns undefined when no message is known. The report is then stored, if it has a `providerMessageId`.
 */
async function recordLocked(
  db: Database,
  clock: Clock,
  report: ProviderReport,
): Promise<TakenReport | undefined> {
  return recordBehindLocks(db, async (client) => {
    const email = (await emailOf(client, report)) ?? (await emailJustAccepted(client, report));
    if (email === undefined) return undefined;
    const draft = reportedEventDraft(report.event, email);
    const values = [...eventValues(eventOf(draft, clock)), ...reportValues(report, email.id, clock)];
    return runForRow<TakenReport>(client, takeReport, values);
  });
}

async function emailOf(client: Queryable, report: ProviderReport): Promise<ReportedEmail | undefined> {
  const { emailId, providerMessageId, writtenEmailId } = report;
  const ids = [emailId, providerMessageId, writtenEmailId];
  const [email] = await run<ReportedEmail>(client, lockNotifiedEmail, ids);
  return email;
}

/**
 * Waits for a transaction that stores this `providerMessageId` now. If there is still no message, stores the
 * report.
 */
async function emailJustAccepted(
  client: Queryable,
  report: ProviderReport,
): Promise<ReportedEmail | undefined> {
  const { notificationId, providerMessageId } = report;
  if (providerMessageId === null) return undefined;
  await waitForAcceptance(client, providerMessageId);
  const email = await emailOf(client, report);
  if (email === undefined) await keepUntilAcceptance(client, { notificationId, providerMessageId }, report);
  return email;
}

function eventOf(
  { type, data, recipients }: Pick<EventDraft, 'type' | 'data' | 'recipients'>,
  clock: Clock,
): EventsOfCause {
  const events = newEvents(type, [data], clock, recipients && [recipients]);
  return { accountId: null, inboundSubject: null, ...events };
}

/** The values of `take-report` from $7 on. */
function reportValues({ notificationId, event, suppress }: ProviderReport, emailId: string, clock: Clock) {
  const lastEvent = lastEventAfter('', event.type); // '': a message without a last event
  const notReplaced = lastEventsAtLeast(event.type);
  return [
    emailId,
    notificationId,
    lastEvent,
    notReplaced,
    event.type === 'email.failed' ? event.error : null,
    ...suppressionValues(suppress, clock),
  ];
}
