import { plainAddresses, senderDomain } from '@postrider/domain';
import type { AccountId, AttachmentDraft, EmailDraft, EmailId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { fillFromDomain, readContents, suppressedAmong, takeEmails } from './sql/take-emails.ts';

/** A message, and the claim under which its job was made. */
export interface MailClaim {
  readonly emailId: EmailId;
  readonly claim: number;
}

/** A message that a worker has taken, with everything that a send attempt needs. */
export interface TakenEmail extends MailClaim {
  readonly accountId: AccountId;
  readonly attemptsMade: number;
  /** Earlier send attempts without a recorded outcome, because of an internal fault. */
  readonly faults: number;
  /** Earlier attempts that the provider did not confirm. */
  readonly unconfirmed: number;
  /** The provider has accepted the message for all recipients but these. Null: for none yet. */
  readonly rest: readonly string[] | null;
  readonly draft: Omit<EmailDraft, 'attachments'>;
  readonly attachments: readonly StoredAttachment[];
  /**
   * Recipients to leave out. They were suppressed, for all mail or for the topic, when the message was taken.
   */
  readonly suppressed: readonly string[];
  /**
   * The message's topic was deleted, and its unsubscribes with it. It is no longer known who unsubscribed.
   */
  readonly topicGone: boolean;
  /** The domain in From, when only verified domains may send and it is not verified now. Otherwise null. */
  readonly unverifiedDomain: string | null;
  readonly accountSuspended: boolean;
  readonly createdAt: Date;
  /** Time until it is due; 0 when it is due. */
  readonly dueInMs: number;
}

export interface StoredAttachment extends Omit<AttachmentDraft, 'content'> {
  readonly content: Buffer;
}

export interface MailRules {
  /** Mail is sent only when the account has verified the domain in From. The provider `ses` needs this. */
  readonly verifiedDomainsOnly: boolean;
}

interface TakenRow
  extends Omit<EmailDraft, 'attachments'>, Omit<TakenEmail, 'draft' | 'attachments' | keyof Checks> {
  /** null: a release without this column stored the message. */
  readonly fromDomain: string | null;
  readonly domainUnverified: boolean;
  readonly attachments: readonly (Omit<AttachmentDraft, 'content'> & { readonly bytes: number })[];
}

/** The findings that can stop a message or leave out recipients. */
type Checks = Suppressions & Pick<TakenEmail, 'unverifiedDomain'>;
type Suppressions = Pick<TakenEmail, 'suppressed' | 'topicGone'>;

/**
 * Takes the messages of the jobs.
 *
 * @returns a promise for each job, in the order of the jobs. It resolves when the rest of the message is
 * read. Null: the job's claim is no longer the message's, or another of the jobs has the same claim.
 */
export async function takeMail(
  db: Database,
  rules: MailRules,
  jobs: readonly MailClaim[],
  leaseSeconds: number,
): Promise<readonly Promise<TakenEmail | null>[]> {
  const ids = jobs.map(({ emailId }) => emailId);
  const claims = jobs.map(({ claim }) => claim);
  const values = [ids, claims, leaseSeconds, rules.verifiedDomainsOnly];
  const rows = await runOn<TakenRow>(db.pool, takeEmails, values);
  const suppressions = rows.length === 0 ? [] : await suppressionsOf(db, rows);
  // The take has raised each claim by one. The job has the claim from before.
  const indexes = new Map(
    rows.map(({ emailId, claim }, index) => [fenceOf({ emailId, claim: claim - 1 }), index]),
  );
  return jobs.map(async (job) => {
    const fence = fenceOf(job);
    const index = indexes.get(fence);
    if (index === undefined) return null;
    indexes.delete(fence); // of two equal jobs, the first gets the message
    const [row, found] = [rows[index], suppressions[index]];
    return row === undefined || found === undefined ? null : read(db, rules, row, found);
  });
}

export function fenceOf({ emailId, claim }: MailClaim): string {
  return `${emailId} ${claim}`;
}

/** Reads the rest of a message. The other messages do not wait for it. */
async function read(
  db: Database,
  rules: MailRules,
  row: TakenRow,
  { suppressed, topicGone }: Suppressions,
): Promise<TakenEmail> {
  const unverifiedDomain = await unverifiedDomainOf(db, row, rules);
  const attachments = await attachmentsOf(db, row);
  return takenOf(row, { suppressed, topicGone, unverifiedDomain }, attachments);
}

/** A message without `from_domain` gets it here and is checked then, because SQL cannot parse an address. */
async function unverifiedDomainOf(
  db: Database,
  row: TakenRow,
  { verifiedDomainsOnly }: MailRules,
): Promise<string | null> {
  if (row.fromDomain !== null) return row.domainUnverified ? row.fromDomain : null;
  const domain = senderDomain(row.from);
  const values = [row.emailId, domain, verifiedDomainsOnly];
  const [filled] = await runOn<{ domainUnverified: boolean }>(db.pool, fillFromDomain, values);
  if (filled === undefined) throw new Error('the message was deleted while it was taken');
  return filled.domainUnverified ? domain : null;
}

/** Read it after the take: an address that was suppressed before the send attempt is then left out. */
async function suppressionsOf(db: Database, rows: readonly TakenRow[]): Promise<Suppressions[]> {
  return runOn<Suppressions>(db.pool, suppressedAmong, [
    rows.map(({ accountId }) => accountId),
    rows.map(({ topicId }) => topicId),
    rows.map(({ to, cc, bcc }) => JSON.stringify(plainAddresses([...to, ...cc, ...bcc]))),
  ]);
}

async function attachmentsOf(db: Database, { emailId, attachments }: TakenRow): Promise<StoredAttachment[]> {
  if (attachments.length === 0) return [];
  const [row] = await runOn<{ contents: Buffer | null }>(db.pool, readContents, [emailId]);
  const contents = row?.contents ?? null;
  if (contents === null) throw new Error('the message was deleted while it was taken');
  let end = 0;
  return attachments.map(({ bytes, ...attachment }) => {
    end += bytes;
    return { ...attachment, content: contents.subarray(end - bytes, end) };
  });
}

function takenOf(row: TakenRow, checks: Checks, attachments: readonly StoredAttachment[]): TakenEmail {
  const { emailId, claim, accountId, attemptsMade, faults, unconfirmed, rest, createdAt, dueInMs } = row;
  const { accountSuspended } = row;
  const { from, to, cc, bcc, replyTo, subject, html, text, headers, tags, topicId } = row;
  return {
    emailId,
    claim,
    accountId,
    attemptsMade,
    faults,
    unconfirmed,
    rest,
    draft: { from, to, cc, bcc, replyTo, subject, html, text, headers, tags, topicId },
    attachments,
    ...checks,
    accountSuspended,
    createdAt,
    dueInMs,
  };
}
