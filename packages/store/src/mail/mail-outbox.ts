import type { EmailId } from '@postrider/domain';
import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import { claimEmails, releaseEmails } from './sql/claim-emails.ts';

/** A message that the relay leased, to add its job to the queue. */
export interface ClaimedEmail {
  readonly emailId: EmailId;
  readonly claim: number;
  /** Time until it is due; 0 when it is due. */
  readonly dueInMs: number;
  /** Earlier send attempts without a recorded outcome. */
  readonly faults: number;
  /** The message was leased before, and the job of that lease may be lost or late. */
  readonly leaseExpired: boolean;
  /** A worker had taken it under the expired lease. It may have sent the message, and wait to record that. */
  readonly wasTaken: boolean;
}

/** The outstanding mail as the relay sees it. */
export type MailOutbox = ReturnType<typeof createMailOutbox>;

/** @param pool its commits need not be durable: when a lease is lost, the row is free. */
export function createMailOutbox(pool: Pool) {
  return {
    /** Leases messages that are due within the look-ahead. */
    async claim(limits: {
      lookAheadSeconds: number;
      rowsMax: number;
      leaseSeconds: number;
    }): Promise<ClaimedEmail[]> {
      return runOn<ClaimedEmail>(pool, claimEmails, [
        limits.lookAheadSeconds,
        limits.rowsMax,
        limits.leaseSeconds,
      ]);
    },
    /** Frees messages that were claimed and could not be added to the queue. */
    async release(claimed: readonly ClaimedEmail[]): Promise<void> {
      const ids = claimed.map((email) => email.emailId);
      await runOn(pool, releaseEmails, [ids, claimed.map((email) => email.claim)]);
    },
  };
}
