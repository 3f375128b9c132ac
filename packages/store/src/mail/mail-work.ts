import type { Clock, EmailId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { endReported, endTogether, retryTogether } from './end-mail.ts';
import type { EndedEmail, RecordedAttempt, ReportedOutcome, RetriedEmail } from './end-mail.ts';
import { releaseEmails, renewEmailLeases } from './sql/claim-emails.ts';
import { forgiveFault } from './sql/end-emails.ts';
import { takeMail } from './take-mail.ts';
import type { MailClaim, MailRules, TakenEmail } from './take-mail.ts';

/** The outstanding mail as a worker sees it. */
export type MailWork = ReturnType<typeof createMailWork>;

export function createMailWork(db: Database, clock: Clock, rules: MailRules) {
  return {
    /**
     * Takes the message of each job. Each inner promise resolves when its message is read. It resolves to
     * null when the message does not belong to the caller, or when another job of the list got the message.
     *
     * A rejection may come after the take has committed.
     */
    async take(
      jobs: readonly MailClaim[],
      leaseSeconds: number,
    ): Promise<readonly Promise<TakenEmail | null>[]> {
      return takeMail(db, rules, jobs, leaseSeconds);
    },
    /**
     * Ends messages with their events, all in one transaction. It leaves out a message that is locked, that
     * no longer belongs to the caller, or that has a stored report. Record such a message with `recordAlone`.
     *
     * @returns the messages that ended.
     */
    async endTogether(
      status: 'sent' | 'failed',
      ends: readonly EndedEmail[],
    ): Promise<ReadonlyMap<TakenEmail, RecordedAttempt>> {
      return endTogether(db, clock, status, ends);
    },
    /**
     * Records an attempt of one message. One transaction writes the end of the message, the events of all
     * reports so far, the suppressions that these reports cause, and the next attempt.
     *
     * @returns null when the message was no longer the caller's.
     */
    async recordAlone(email: TakenEmail, outcome: ReportedOutcome): Promise<RecordedAttempt | null> {
      return endReported(db, clock, email, outcome);
    },
    /**
     * Makes messages due again after their delays. @returns the messages that still belonged to the caller.
     */
    async retry(retries: readonly RetriedEmail[]): Promise<ReadonlySet<TakenEmail>> {
      return retryTogether(db, retries);
    },
    /** Frees messages that were not taken, for another worker. A stale job changes nothing. */
    async release(jobs: readonly MailClaim[]): Promise<void> {
      const ids = jobs.map(({ emailId }) => emailId);
      await runOn(db.pool, releaseEmails, [ids, jobs.map(({ claim }) => claim)]);
    },
    /** Renews the leases of messages. @returns the messages that still belonged to the caller. */
    async renew(emails: readonly TakenEmail[], leaseSeconds: number): Promise<ReadonlySet<TakenEmail>> {
      const rows = await runOn<{ id: EmailId }>(db.pool, renewEmailLeases, [
        emails.map(({ emailId }) => emailId),
        emails.map(({ claim }) => claim),
        leaseSeconds,
      ]);
      const held = new Set(rows.map(({ id }) => id));
      return new Set(emails.filter(({ emailId }) => held.has(emailId)));
    },
    /** Subtracts one from the faults of a message, when the message was not the cause. */
    async forgiveFault(job: MailClaim): Promise<void> {
      await runOn(db.pool, forgiveFault, [job.emailId, job.claim]);
    },
  };
}
