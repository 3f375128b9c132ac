import {
  blamedAddresses,
  lastEventAfter,
  lastEventsAtLeast,
  newEvents,
  plainAddresses,
  recordEvent,
  reportedEventDraft,
} from '@postrider/domain';
import type {
  Clock,
  EmailId,
  EventId,
  EventType,
  NextAttempt,
  ProviderNotification,
  ReportedEvent,
  WebhookId,
} from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { recordBehindLocks } from '../db/record-cause.ts';
import { eventValues } from '../db/sql/event-ctes.ts';
import { run, runForRow, runIn } from '../db/statement.ts';
import { awaitEmail, endEmails, leaveOutbox, lockEmails, queueAgain, retryEmails } from './sql/end-emails.ts';
import { suppressBlamed } from './suppress-blamed.ts';
import { fenceOf } from './take-mail.ts';
import type { MailClaim, TakenEmail } from './take-mail.ts';
import { claimReports } from './unclaimed-notifications.ts';
import type { ReportedChange } from './unclaimed-notifications.ts';

/** A message after its last send attempt. */
export interface EndedEmail {
  readonly email: TakenEmail;
  readonly providerMessageId: string | null;
  readonly error: string | null;
}

/** A message that the provider did not accept. */
export interface RetriedEmail extends Pick<NextAttempt, 'delayMs' | 'attempts'> {
  readonly email: TakenEmail;
}

/** The outcome of an attempt. */
export interface ReportedOutcome {
  readonly providerMessageId: string | null;
  /** Notifications that came with the provider's answer. */
  readonly notifications: readonly ProviderNotification[];
  /** Null: the provider has neither accepted nor refused the message. */
  readonly status: 'sent' | 'failed' | null;
  readonly error: string | null;
  /** Null: no attempt follows. */
  readonly next: NextAttempt | null;
}

/** An attempt whose outcome is stored. */
export interface RecordedAttempt {
  /** `email.sent` or `email.failed`; null: the attempt did not end the message. */
  readonly eventId: EventId | null;
}

interface EndedRow {
  readonly ended: Readonly<Record<EmailId, EventId>>;
  readonly webhooks: readonly WebhookId[];
}

/**
 * Ends messages with two statements: the first takes the locks, so the second sees the rows that earlier
 * holders of the locks committed.
 *
 * @returns the messages that ended.
 */
export async function endTogether(
  db: Database,
  clock: Clock,
  status: 'sent' | 'failed',
  all: readonly EndedEmail[],
): Promise<ReadonlyMap<TakenEmail, RecordedAttempt>> {
  const ends = new Map(all.map((one) => [one.email.emailId, one]));
  const { ended } = await recordBehindLocks(db, async (client) => {
    const rows = await run<{ emailId: EmailId }>(client, lockEmails, lockValues([...ends.values()]));
    const locked = rows.flatMap(({ emailId }) => ends.get(emailId) ?? []);
    return runForRow<EndedRow>(client, endEmails, endValues(status, locked, clock));
  });
  return new Map(
    [...ends.values()].flatMap(({ email }) => {
      const eventId = ended[email.emailId];
      return eventId === undefined ? [] : [[email, { eventId }] as const];
    }),
  );
}

/**
 * Records an attempt with all reports of the provider about the message. Each report has its event. A message
 * ends once. An attempt for the rest of its recipients (`email.rest`) comes after that end, so only its
 * reports are written.
 *
 * @returns null when the message was no longer the caller's.
 */
export async function endReported(
  db: Database,
  clock: Clock,
  email: TakenEmail,
  outcome: ReportedOutcome,
): Promise<RecordedAttempt | null> {
  const { providerMessageId, notifications, error, status, next } = outcome;
  const ends = [{ email, providerMessageId, error }];
  const { emailId: id, accountId, draft, claim } = email;
  return db.transactions.run(async (tx) => {
    const locked = await runIn(tx.client, awaitEmail, lockValues(ends));
    if (locked.length === 0) return null;
    let eventId: EventId | null = null;
    const sentAt = clock.now().toISOString();
    const atOnce = notifications.map((notification) => reportedAt(sentAt, notification));
    const reports = [...atOnce, ...(await claimReports(tx, providerMessageId))];
    const blamed = reports.flatMap(({ suppress }) => suppress);
    await suppressBlamed(tx, blamed, { id, accountId }, clock);
    const events = reports.map(({ event }) => event);
    if (status === null || email.rest !== null) {
      // '' ranks below every value of `last_event`. Without an event it stays, and `leaveOutbox` writes none.
      const lastEvent = events.map(({ type }) => type).reduce<string>(lastEventAfter, '');
      const kept = lastEventsAtLeast(`email.${lastEvent}` as EventType);
      await runIn(tx.client, leaveOutbox, [id, lastEvent, kept]);
    } else {
      const [ended] = await runIn<EndedRow>(tx.client, endEmails, endValues(status, ends, clock, events));
      eventId = ended?.ended[id] ?? null;
      if (ended === undefined || eventId === null) throw new Error('a message that was held did not end');
      for (const webhook of ended.webhooks) tx.wakeWebhook(webhook);
    }
    if (next !== null) {
      const { delayMs, attempts, unconfirmed, rest } = next;
      await runIn(tx.client, queueAgain, [id, delayMs, claim + 1, attempts, unconfirmed, rest]);
    }
    const { from, subject } = draft;
    const reported = { id, accountId, from, subject, recipients: recipientsOf(draft) };
    for (const event of events) await recordEvent(tx, reportedEventDraft(event, reported), clock);
    return { eventId };
  });
}

export async function retryTogether(
  db: Database,
  retries: readonly RetriedEmail[],
): Promise<ReadonlySet<TakenEmail>> {
  const emails = new Map(retries.map(({ email }) => [fenceOf(email), email]));
  const rows = await runOn<MailClaim>(db.pool, retryEmails, [
    retries.map(({ email }) => email.emailId),
    retries.map(({ email }) => email.claim),
    retries.map(({ delayMs }) => delayMs),
    retries.map(({ attempts }) => attempts),
  ]);
  return new Set(rows.flatMap((row) => emails.get(fenceOf(row)) ?? []));
}

function lockValues(ends: readonly EndedEmail[]): unknown[] {
  return [
    ends.map(({ email }) => email.emailId),
    ends.map(({ email }) => email.claim),
    ends.map(({ providerMessageId }) => providerMessageId),
  ];
}

/** @param reports the provider's reports so far, when a single message ends. */
function endValues(
  status: 'sent' | 'failed',
  ends: readonly EndedEmail[],
  clock: Clock,
  reports: readonly ReportedEvent[] = [],
): unknown[] {
  const events = newEvents(
    `email.${status}` as const,
    ends.map(({ email: { emailId, draft }, error }) => {
      return { email_id: emailId, from: draft.from, subject: draft.subject, error };
    }),
    clock,
    ends.map(({ email: { draft } }) => plainAddresses(recipientsOf(draft))),
  );
  const lastEvent = reports.map(({ type }) => type).reduce<string>(lastEventAfter, status);
  const failure = reports.findLast((event) => event.type === 'email.failed');
  return [
    ...eventValues({ accountId: null, inboundSubject: null, ...events }),
    ends.map(({ email }) => email.emailId),
    ends.map(({ providerMessageId }) => providerMessageId),
    ends.map(({ error }) => failure?.error ?? error),
    ends.map(({ email }) => JSON.stringify(email.suppressed)),
    failure === undefined ? status : 'failed',
    lastEvent,
    lastEventsAtLeast(`email.${lastEvent}` as EventType),
    status === 'sent',
  ];
}

function recipientsOf({ to, cc, bcc }: TakenEmail['draft']): string[] {
  return [...to, ...cc, ...bcc];
}

/** A report that came with the provider's answer. */
function reportedAt(occurredAt: string, notification: ProviderNotification): ReportedChange {
  return { event: { ...notification, occurredAt }, suppress: blamedAddresses(notification) };
}
