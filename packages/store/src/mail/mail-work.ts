import {
  blamedAddresses,
  lastEventAfter,
  lastEventsAtLeast,
  newEvents,
  parseEmailAddress,
  plainAddress,
  recordEvent,
  reportedEventDraft,
  senderDomain,
} from '@postrider/domain';
import type {
  AccountId,
  AttachmentDraft,
  Clock,
  EmailDraft,
  EmailId,
  EmailTag,
  EventType,
  ProviderNotification,
  ReportedEvent,
  TopicId,
  WebhookId,
} from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { recordBehindLocks } from '../db/record-cause.ts';
import { eventValues } from '../db/sql/event-ctes.ts';
import { run, runForRow, runIn } from '../db/statement.ts';
import type { Statement } from '../db/statement.ts';
import { releaseUnbegunEmails } from './sql/claim-emails.ts';
import { awaitEmail, endEmails, forgiveFault, lockEmails, retryEmails } from './sql/end-emails.ts';
import { fillFromDomain, readContents, suppressedAmong, takeEmails } from './sql/take-emails.ts';
import { suppressBlamed } from './suppress-blamed.ts';
import { claimReports } from './unclaimed-notifications.ts';
import type { ReportedChange } from './unclaimed-notifications.ts';

/** A message by the hand-over a job was made for. */
export interface MailClaim {
  readonly emailId: EmailId;
  readonly claim: number;
}

/** A message in a worker's hands. */
export interface TakenEmail extends MailClaim {
  readonly accountId: AccountId;
  readonly attemptsMade: number;
  /** Earlier hand-overs of which no outcome was recorded, by a fault of our own. */
  readonly faults: number;
  readonly draft: Omit<EmailDraft, 'attachments'>;
  readonly attachments: readonly StoredAttachment[];
  /** Recipients that are to be left out: suppressed for the account or the message's topic when it was taken. */
  readonly suppressed: readonly string[];
  /** The message names a topic that has been deleted, and who had unsubscribed from it is not known any more. */
  readonly topicGone: boolean;
  /** The domain in From, where mail leaves from verified domains only and the account has not verified it (any more). */
  readonly unverifiedDomain: string | null;
  readonly createdAt: Date;
  readonly earlyMs: number;
}

export interface StoredAttachment extends Omit<AttachmentDraft, 'content'> {
  readonly content: Buffer;
}

/** A hand-over that ended, with an id of the provider's or without, and with an error or without. */
export interface EndedEmail {
  readonly email: TakenEmail;
  readonly providerMessageId: string | null;
  readonly error: string | null;
}

/** A hand-over that was deferred. */
export interface RetriedEmail {
  readonly email: TakenEmail;
  readonly delayMs: number;
}

/** A worker's view of the mail. Each end returns false when the message was no longer the caller's. */
export interface MailWork {
  /**
   * @returns for each job its message, which may be read on for a while; null: it is not the caller's, or another of the
   *   jobs has got it. A rejection may come after the take has committed.
   */
  take(jobs: readonly MailClaim[], leaseSeconds: number): Promise<readonly Promise<TakenEmail | null>[]>;
  /**
   * Ends messages, each with its event; all in one transaction. None that is another's, that another has locked, or that
   * a report of the provider waits for: those end one by one, by `sent` and `failed`.
   *
   * @returns those that have ended.
   */
  endTogether(status: 'sent' | 'failed', ends: readonly EndedEmail[]): Promise<ReadonlySet<TakenEmail>>;
  /**
   * The provider accepted: the message is sent and `email.sent` exists, and so do the events of what the provider reports
   * at once or has reported before, and the suppressions that follow from it; all in one transaction.
   */
  sent(email: TakenEmail, answer: AcceptedAnswer): Promise<boolean>;
  /** The service gave up: `email.failed` exists, in the same transaction. */
  failed(email: TakenEmail, error: string): Promise<boolean>;
  /** Puts messages back, each due again after its delay. @returns those that were the caller's. */
  retry(retries: readonly RetriedEmail[]): Promise<ReadonlySet<TakenEmail>>;
  /** Frees messages that were not taken, for another worker. A job that is stale changes nothing. */
  release(jobs: readonly MailClaim[]): Promise<void>;
  /** The hand-over ended unrecorded, and the message was not the cause: it does not count as a fault. */
  forgiveFault(job: MailClaim): Promise<void>;
}

export interface AcceptedAnswer {
  readonly providerMessageId: string | null;
  readonly notifications: readonly ProviderNotification[];
}

interface TakenEmailRow {
  readonly id: EmailId;
  readonly claim: number;
  readonly attempts: number;
  /** This hand-over among them. */
  readonly unrecorded: number;
  readonly account_id: AccountId;
  readonly from_address: string;
  /** Null: stored by a release without this column. */
  readonly from_domain: string | null;
  readonly domain_unverified: boolean;
  readonly to_addresses: string[];
  readonly cc_addresses: string[];
  readonly bcc_addresses: string[];
  readonly reply_to_addresses: string[];
  readonly subject: string;
  readonly html: string | null;
  readonly text: string | null;
  readonly headers: Record<string, string>;
  readonly tags: EmailTag[];
  readonly topic_id: TopicId | null;
  readonly attachments: readonly (Omit<AttachmentDraft, 'content'> & { readonly bytes: number })[];
  readonly created_at: Date;
  readonly early_ms: number;
}

interface EndedRow {
  readonly ended: readonly EmailId[];
  readonly webhooks: readonly WebhookId[];
}

export interface MailRules {
  /** Mail is handed over only if the account has verified the domain in From: so it is with the provider `ses`. */
  readonly verifiedDomainsOnly: boolean;
}

export function createMailWork(db: Database, clock: Clock, rules: MailRules): MailWork {
  const { verifiedDomainsOnly } = rules;
  /** What else a message has, apart from the others: they do not wait for it. */
  async function read(row: TakenEmailRow, standing: Omit<Standing, 'unverifiedDomain'>): Promise<TakenEmail> {
    const unverifiedDomain = await unverifiedDomainOf(db, row, rules);
    return takenOf(row, { ...standing, unverifiedDomain }, await attachmentsOf(db, row));
  }
  return {
    async take(jobs, leaseSeconds) {
      const ids = jobs.map(({ emailId }) => emailId);
      const values = [ids, jobs.map(({ claim }) => claim), leaseSeconds, verifiedDomainsOnly];
      const rows = await runOn<TakenEmailRow>(db.pool, takeEmails, values);
      const standings = rows.length === 0 ? [] : await standingsOf(db, rows);
      const places = new Map(
        rows.map(({ id: emailId, claim }, index) => [fenceOf({ emailId, claim: claim - 1 }), index]),
      );
      return jobs.map(async (job) => {
        const fence = fenceOf(job);
        const place = places.get(fence) ?? -1;
        const [row, standing] = [rows[place], standings[place]];
        places.delete(fence);
        return row === undefined || standing === undefined ? null : read(row, standing);
      });
    },
    endTogether: (status, ends) => end(db, clock, { locks: lockEmails, status, ends }),
    sent: (email, answer) => endReported(db, clock, email, answer),
    async failed(email, error) {
      const ends = [{ email, providerMessageId: null, error }];
      return (await end(db, clock, { locks: awaitEmail, status: 'failed', ends })).has(email);
    },
    retry: (retries) => retryTogether(db, retries),
    async release(jobs) {
      const ids = jobs.map(({ emailId }) => emailId);
      await runOn(db.pool, releaseUnbegunEmails, [ids, jobs.map(({ claim }) => claim)]);
    },
    async forgiveFault(job) {
      await runOn(db.pool, forgiveFault, [job.emailId, job.claim]);
    },
  };
}

interface Ending {
  readonly locks: Statement;
  readonly status: 'sent' | 'failed';
  readonly ends: readonly EndedEmail[];
}

/** Two statements: the locks, and what is seen behind them. */
async function end(
  db: Database,
  clock: Clock,
  { locks, status, ends: all }: Ending,
): Promise<ReadonlySet<TakenEmail>> {
  const ends = new Map(all.map((one) => [one.email.emailId, one]));
  const { ended } = await recordBehindLocks(db, async (client) => {
    const locked = await run<{ email_id: EmailId }>(client, locks, lockValues([...ends.values()]));
    const held = locked.flatMap(({ email_id: id }) => ends.get(id) ?? []);
    return runForRow<EndedRow>(client, endEmails, endValues(status, held, clock));
  });
  return new Set(ended.flatMap((id) => ends.get(id)?.email ?? []));
}

/** Ends one message with all that the provider has reported of it, each with its event. */
async function endReported(
  db: Database,
  clock: Clock,
  email: TakenEmail,
  { providerMessageId, notifications }: AcceptedAnswer,
): Promise<boolean> {
  const ends = [{ email, providerMessageId, error: null }];
  const { emailId: id, accountId, draft } = email;
  return db.transactions.run(async (tx) => {
    const held = await runIn(tx.client, awaitEmail, lockValues(ends));
    if (held.length === 0) return false;
    const sentAt = clock.now().toISOString();
    const atOnce = notifications.map((notification) => reportedAt(sentAt, notification));
    const reports = [...atOnce, ...(await claimReports(tx, providerMessageId))];
    const blamed = reports.flatMap(({ suppress }) => suppress);
    await suppressBlamed(tx, blamed, { id, accountId }, clock);
    const events = reports.map(({ event }) => event);
    const [ended] = await runIn<EndedRow>(tx.client, endEmails, endValues('sent', ends, clock, events));
    if (ended?.ended.length !== 1) throw new Error('a message that was held did not end');
    for (const webhook of ended.webhooks) tx.wakeWebhook(webhook);
    const { from, subject } = draft;
    for (const event of events) {
      await recordEvent(tx, reportedEventDraft(event, { id, accountId, from, subject }), clock);
    }
    return true;
  });
}

async function retryTogether(
  db: Database,
  retries: readonly RetriedEmail[],
): Promise<ReadonlySet<TakenEmail>> {
  const emails = new Map(retries.map(({ email }) => [fenceOf(email), email]));
  const rows = await runOn<{ email_id: EmailId; claim: number }>(db.pool, retryEmails, [
    retries.map(({ email }) => email.emailId),
    retries.map(({ email }) => email.claim),
    retries.map(({ delayMs }) => delayMs),
  ]);
  return new Set(
    rows.flatMap((row) => emails.get(fenceOf({ emailId: row.email_id, claim: row.claim })) ?? []),
  );
}

function fenceOf({ emailId, claim }: MailClaim): string {
  return `${emailId} ${claim}`;
}

function lockValues(ends: readonly EndedEmail[]): unknown[] {
  return [
    ends.map(({ email }) => email.emailId),
    ends.map(({ email }) => email.claim),
    ends.map(({ providerMessageId }) => providerMessageId),
  ];
}

/** @param reports what the provider has reported already, where one message ends. */
function endValues(
  status: Ending['status'],
  ends: readonly EndedEmail[],
  clock: Clock,
  reports: readonly ReportedEvent[] = [],
): unknown[] {
  const told = newEvents(
    `email.${status}` as const,
    ends.map(({ email: { emailId, draft }, error }) => {
      return { email_id: emailId, from: draft.from, subject: draft.subject, error };
    }),
    clock,
  );
  const lastEvent = reports.map(({ type }) => type).reduce<string>(lastEventAfter, status);
  const failure = reports.findLast((event) => event.type === 'email.failed');
  return [
    ...eventValues({ accountId: null, inboundSubject: null, ...told }),
    ends.map(({ email }) => email.emailId),
    ends.map(({ providerMessageId }) => providerMessageId),
    ends.map(({ error }) => failure?.error ?? error),
    ends.map(({ email }) => JSON.stringify(email.suppressed)),
    failure === undefined ? status : 'failed',
    lastEvent,
    lastEventsAtLeast(`email.${lastEvent}` as EventType),
    status === 'sent' ? told.createdAt.toISOString() : null,
  ];
}

/** What the provider reports with its own answer. */
function reportedAt(occurredAt: string, notification: ProviderNotification): ReportedChange {
  return { event: { ...notification, occurredAt }, suppress: blamedAddresses(notification) };
}

/** What stands in the way of a message when it is taken. */
type Standing = Pick<TakenEmail, 'suppressed' | 'topicGone' | 'unverifiedDomain'>;

/** A message without the column gets it here, and its judgement with it: SQL cannot read an address. */
async function unverifiedDomainOf(
  db: Database,
  row: TakenEmailRow,
  { verifiedDomainsOnly }: MailRules,
): Promise<string | null> {
  if (row.from_domain !== null) return row.domain_unverified ? row.from_domain : null;
  const domain = senderDomain(row.from_address);
  const values = [row.id, domain, verifiedDomainsOnly];
  const [filled] = await runOn<{ domain_unverified: boolean }>(db.pool, fillFromDomain, values);
  if (filled === undefined) throw new Error('the message went while it was taken');
  return filled.domain_unverified ? domain : null;
}

/** Asked once the messages are taken, so that whoever was suppressed before a hand-over is left out of it. */
async function standingsOf(
  db: Database,
  rows: readonly TakenEmailRow[],
): Promise<Omit<Standing, 'unverifiedDomain'>[]> {
  const found = await runOn<{ addresses: string[]; topic_gone: boolean }>(db.pool, suppressedAmong, [
    rows.map((row) => row.account_id),
    rows.map((row) => row.topic_id),
    rows.map((row) => JSON.stringify(recipientsOf(row))),
  ]);
  return found.map((row) => ({ suppressed: row.addresses, topicGone: row.topic_gone }));
}

function recipientsOf(row: TakenEmailRow): string[] {
  const written = [...row.to_addresses, ...row.cc_addresses, ...row.bcc_addresses];
  return written.flatMap((text) => plainAddress(parseEmailAddress(text)?.address ?? '') ?? []);
}

async function attachmentsOf(db: Database, { id, attachments }: TakenEmailRow): Promise<StoredAttachment[]> {
  if (attachments.length === 0) return [];
  const [row] = await runOn<{ contents: Buffer | null }>(db.pool, readContents, [id]);
  const contents = row?.contents ?? null;
  if (contents === null) throw new Error('the message went while it was taken');
  let begins = 0;
  return attachments.map(({ bytes, ...attachment }) => {
    begins += bytes;
    return { ...attachment, content: contents.subarray(begins - bytes, begins) };
  });
}

function takenOf(
  row: TakenEmailRow,
  standing: Standing,
  attachments: readonly StoredAttachment[],
): TakenEmail {
  return {
    emailId: row.id,
    claim: row.claim,
    accountId: row.account_id,
    attemptsMade: row.attempts,
    faults: row.unrecorded - 1,
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
      tags: row.tags,
      topicId: row.topic_id,
    },
    attachments,
    ...standing,
    createdAt: row.created_at,
    earlyMs: row.early_ms,
  };
}
