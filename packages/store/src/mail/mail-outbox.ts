import type { AccountId, EmailId } from '@postrider/domain';
import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import { claimEmails, releaseEmails } from './sql/claim-emails.ts';

/** A message leased for the way through the queue. */
export interface ClaimedEmail {
  readonly emailId: EmailId;
  readonly claim: number;
  readonly accountId: AccountId;
  readonly delayMs: number;
  /** Earlier hand-overs of which no outcome was recorded. */
  readonly faults: number;
}

interface ClaimedEmailRow {
  readonly email_id: EmailId;
  readonly claim: number;
  readonly account_id: AccountId;
  readonly delay_ms: number;
  readonly unrecorded: number;
}

/** The relay's view of the mail that has still to reach the provider. */
export interface MailOutbox {
  claim(limits: { lookAheadSeconds: number; rowsMax: number; leaseSeconds: number }): Promise<ClaimedEmail[]>;
  /** Gives back what was claimed and could not be queued. */
  release(claimed: readonly ClaimedEmail[]): Promise<void>;
}

/** @param pool commits need not be durable: a lost lease is a free row. */
export function createMailOutbox(pool: Pool): MailOutbox {
  return {
    async claim(limits) {
      const rows = await runOn<ClaimedEmailRow>(pool, claimEmails, [
        limits.lookAheadSeconds,
        limits.rowsMax,
        limits.leaseSeconds,
      ]);
      return rows.map((row) => ({
        emailId: row.email_id,
        claim: row.claim,
        accountId: row.account_id,
        delayMs: row.delay_ms,
        faults: row.unrecorded,
      }));
    },
    async release(claimed) {
      const ids = claimed.map((email) => email.emailId);
      await runOn(pool, releaseEmails, [ids, claimed.map((email) => email.claim)]);
    },
  };
}
