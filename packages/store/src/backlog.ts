import type { DeadLetterReason } from '@postrider/domain';
import type { Pool } from 'pg';
import { mappingUnavailable } from './errors.ts';

/** What an operator asks first. Counts are exact. */
export interface Backlog {
  readonly outstanding: number;
  readonly dueNow: number;
  /** How long the oldest delivery that nobody has in hand has been due; 0 when there is none. */
  readonly oldestDueSeconds: number;
  readonly unsentEmails: number;
  readonly deadLetters: Readonly<Record<DeadLetterReason, number>>;
  readonly failingWebhooks: number;
}

interface BacklogRow {
  readonly outstanding: string;
  readonly due_now: string;
  readonly oldest_due_seconds: number;
  readonly unsent_emails: string;
  readonly exhausted: string;
  readonly rejected: string;
  readonly failing: string;
}

export async function readBacklog(pool: Pool): Promise<Backlog> {
  const { rows } = await mappingUnavailable(() =>
    pool.query<BacklogRow>(
      `select d.*, l.*,
              (select count(*) from email_sends) as unsent_emails,
              (select count(*) from webhooks where failing_since is not null) as failing
       from (select count(*) as outstanding,
                    count(*) filter (where due_at <= now()) as due_now,
                    coalesce(extract(epoch from now() - min(due_at) filter (where due_at <= now()
                      and (leased_until is null or leased_until <= now()))), 0)::float8 as oldest_due_seconds
             from deliveries) d,
            (select count(*) filter (where reason = 'attempts_exhausted') as exhausted,
                    count(*) filter (where reason = 'rejected') as rejected
             from dead_letters) l`,
    ),
  );
  const [row] = rows;
  if (row === undefined) throw new Error('an aggregate returned no row');
  return {
    outstanding: Number(row.outstanding),
    dueNow: Number(row.due_now),
    oldestDueSeconds: row.oldest_due_seconds,
    unsentEmails: Number(row.unsent_emails),
    deadLetters: { attempts_exhausted: Number(row.exhausted), rejected: Number(row.rejected) },
    failingWebhooks: Number(row.failing),
  };
}
