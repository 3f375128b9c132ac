import type { DeadLetterReason } from '@postrider/domain';
import type { Pool } from 'pg';
import { mappingUnavailable } from './errors.ts';

/** The deliveries that are neither done nor given up. Counts are exact. */
export interface Outstanding {
  readonly outstanding: number;
  readonly dueNow: number;
  /** How long the oldest delivery that nobody has in hand has been due; 0 when there is none. */
  readonly oldestDueSeconds: number;
}

/** What an operator asks first. */
export interface Backlog extends Outstanding {
  readonly unsentEmails: number;
  readonly deadLetters: Readonly<Record<DeadLetterReason, number>>;
  readonly failingWebhooks: number;
}

interface OutstandingRow {
  readonly outstanding: string;
  readonly due_now: string;
  readonly oldest_due_seconds: number;
}

interface RestRow {
  readonly unsent_emails: string;
  readonly exhausted: string;
  readonly rejected: string;
  readonly failing: string;
}

export async function readOutstanding(pool: Pool): Promise<Outstanding> {
  const row = await readOne<OutstandingRow>(
    pool,
    `select count(*) as outstanding,
            count(*) filter (where due_at <= now()) as due_now,
            coalesce(extract(epoch from now() - min(due_at) filter (where due_at <= now()
              and (leased_until is null or leased_until <= now()))), 0)::float8 as oldest_due_seconds
     from deliveries`,
  );
  return {
    outstanding: Number(row.outstanding),
    dueNow: Number(row.due_now),
    oldestDueSeconds: row.oldest_due_seconds,
  };
}

/** Counts dead letters as well, which nothing bounds: for an operator's question, not for every few seconds. */
export async function readBacklog(pool: Pool): Promise<Backlog> {
  const row = await readOne<RestRow>(
    pool,
    `select l.*,
            (select count(*) from email_sends) as unsent_emails,
            (select count(*) from webhooks where failing_since is not null) as failing
     from (select count(*) filter (where reason = 'attempts_exhausted') as exhausted,
                  count(*) filter (where reason = 'rejected') as rejected
           from dead_letters) l`,
  );
  return {
    ...(await readOutstanding(pool)),
    unsentEmails: Number(row.unsent_emails),
    deadLetters: { attempts_exhausted: Number(row.exhausted), rejected: Number(row.rejected) },
    failingWebhooks: Number(row.failing),
  };
}

async function readOne<Row extends object>(pool: Pool, sql: string): Promise<Row> {
  const { rows } = await mappingUnavailable(() => pool.query<Row>(sql));
  const [row] = rows;
  if (row === undefined) throw new Error('an aggregate returned no row');
  return row;
}
