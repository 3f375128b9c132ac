import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import { statement } from '../db/statement.ts';

const COUNTED_MAX = 10_000;

/** Mail that waits for the provider. */
export interface UnsentMail {
  /** Counted up to 10,000. */
  readonly emails: number;
  /** True: more than 10,000 messages wait. */
  readonly isCut: boolean;
  /** Null: none waits. */
  readonly oldestDueAt: Date | null;
  /** How long the oldest message has been due, by the clock of Postgres. 0 when none is due. */
  readonly oldestDueSeconds: number;
}

/** $1 one more than the maximum number of messages to count. */
const READ = statement('read-unsent-mail')`
    select (select count(*)::int from (select from email_sends limit $1) counted) as emails,
           oldest.due_at as "oldestDueAt",
           greatest(0, coalesce(extract(epoch from now() - oldest.due_at), 0))::float8 as "oldestDueSeconds"
    from (select (select due_at from email_sends order by due_at limit 1) as due_at) oldest`;

export async function readUnsentMail({ pool }: { readonly pool: Pool }): Promise<UnsentMail> {
  const [row] = await runOn<Omit<UnsentMail, 'isCut'>>(pool, READ, [COUNTED_MAX + 1]);
  const { emails: found = 0, oldestDueAt = null, oldestDueSeconds = 0 } = row ?? {};
  const emails = Math.min(found, COUNTED_MAX);
  return { emails, isCut: found > emails, oldestDueAt, oldestDueSeconds };
}
