import type { Pool } from 'pg';
import { inBoundedStep, ROWS_PER_STEP } from '../bounded-step.ts';
import type { Erased } from './erasure.ts';

const UNREAD = `
  select count(*)::int as unread, (extract(epoch from min(created_at)) * 1000)::float8 as "oldestMs"
  from (
    select created_at from ses_mail where created_at <= $1::timestamptz order by created_at limit ${ROWS_PER_STEP}
  ) s`;

/**
 * Mail that SES told of before the request, and that is not taken in yet. Whom it names, and whose it is, is known when it has
 * been read. @returns it as pending, the first thousand.
 */
export async function unreadSesMail(pool: Pool, requestedAt: string): Promise<Erased> {
  const { rows } = await inBoundedStep(pool, (client) =>
    client.query<{ unread: number; oldestMs: number | null }>(UNREAD, [requestedAt]),
  );
  const [{ unread, oldestMs } = { unread: 0, oldestMs: null }] = rows;
  return { erased: 0, pending: unread, oldestPendingMs: oldestMs ?? Infinity };
}
