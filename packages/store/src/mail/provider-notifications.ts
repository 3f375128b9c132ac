import {
  lastEventAfter,
  lastEventsAtLeast,
  newEvents,
  reportedEventData,
  reportedEventDraft,
} from '@postrider/domain';
import type { AccountId, Clock, EmailId, EventDraft, KeyKind, WebhookId } from '@postrider/domain';
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
  readonly from_address: string;
  readonly subject: string;
}

interface TakenReportRow {
  readonly kind: KeyKind;
  /** False: it had been taken before. */
  readonly taken: boolean;
  readonly webhooks: readonly WebhookId[];
}

export function createProviderNotificationStore(db: Database, clock: Clock): ProviderNotificationStore {
  return {
    async record(report) {
      const taken = (await recordAtOnce(db, clock, report)) ?? (await recordLocked(db, clock, report));
      if (taken === undefined) return 'unknown-mail';
      if (!taken.taken) return 'repeated';
      return taken.kind === 'test' ? 'test-mail' : 'recorded';
    },
  };
}

/**
 * One statement: for a report that names our id, and whose event tells nothing that only the message knows.
 *
 * @returns undefined when the report is none of these, no message has the id, or another has locked it.
 */
async function recordAtOnce(
  db: Database,
  clock: Clock,
  report: ProviderReport,
): Promise<TakenReportRow | undefined> {
  const { emailId, event } = report;
  if (emailId === null || event.type === 'email.failed') return undefined;
  const draft = { type: event.type, data: reportedEventData(event, emailId as EmailId) };
  return recordCause<TakenReportRow>(
    db,
    takeReport,
    eventOf(draft, clock),
    reportValues(report, emailId, clock),
  );
}

/**
 * Locks, then sees what their holders have committed: a kept report, a hand-over that makes the message
 * known.
 *
 * @returns undefined when no message is known; the report may be kept then.
 */
async function recordLocked(
  db: Database,
  clock: Clock,
  report: ProviderReport,
): Promise<TakenReportRow | undefined> {
  return recordBehindLocks(db, async (client) => {
    const email = (await emailOf(client, report)) ?? (await emailJustHandedOver(client, report));
    if (email === undefined) return undefined;
    const { id, account_id: accountId, from_address: from, subject } = email;
    const draft = reportedEventDraft(report.event, { id, accountId, from, subject });
    const values = [...eventValues(eventOf(draft, clock)), ...reportValues(report, id, clock)];
    return runForRow<TakenReportRow>(client, takeReport, values);
  });
}

async function emailOf(client: Queryable, report: ProviderReport): Promise<NotifiedEmailRow | undefined> {
  const { emailId, providerMessageId, writtenEmailId } = report;
  const ids = [emailId, providerMessageId, writtenEmailId];
  const [email] = await run<NotifiedEmailRow>(client, lockNotifiedEmail, ids);
  return email;
}

/** Of a report that has met no message: the message, if it becomes known at this very moment; else the report is kept. */
async function emailJustHandedOver(
  client: Queryable,
  report: ProviderReport,
): Promise<NotifiedEmailRow | undefined> {
  const { messageId, providerMessageId } = report;
  if (providerMessageId === null) return undefined;
  await waitForAcceptance(client, providerMessageId);
  const email = await emailOf(client, report);
  if (email === undefined) await keepUntilAcceptance(client, { messageId, providerMessageId }, report);
  return email;
}

function eventOf({ type, data }: Pick<EventDraft, 'type' | 'data'>, clock: Clock): EventsOfCause {
  return { accountId: null, inboundSubject: null, ...newEvents(type, [data], clock) };
}

/** What `take-report` takes from $7 on. */
function reportValues({ messageId, event, suppress }: ProviderReport, emailId: string, clock: Clock) {
  return [
    emailId,
    messageId,
    lastEventAfter('', event.type),
    lastEventsAtLeast(event.type),
    event.type === 'email.failed' ? event.error : null,
    ...suppressionValues(suppress, clock),
  ];
}
