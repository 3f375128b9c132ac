import type { Pool, PoolClient } from 'pg';
import { forRetention, inStepsByAge, lacks, MESSAGES_PER_STEP, readAgedPage } from '../db/bounded-step.ts';

/** A message that still waits to be sent needs its contents. */
const NOT_WAITING = lacks('email_sends', 'email_id', 'page.id');

/** Deletes the bodies and attachments of messages older than `days`. @returns how many messages. */
export async function dropMailContents(pool: Pool, days: number): Promise<number> {
  return dropMail(pool, days, { age: 'created_at', indexed: HAS_CONTENT, drop: EMPTY });
}

/** Deletes messages that are older than `days`. @returns how many. */
export async function dropOldMail(pool: Pool, days: number): Promise<number> {
  return dropMail(pool, days, {
    age: forRetention('created_at'),
    indexed: 'true',
    drop: DELETE,
  });
}

/** A CTE that deletes the keys of the recipients of the deleted messages in `mine`. */
export const RECIPIENTS = `
  recipients as (
    delete from email_recipients r where r.email_id = any (array(select id from mine))
  )`;

const HAS_CONTENT = '(html is not null or text is not null)';

/** Skips messages that a provider report has locked. The next pass takes them. */
const EMPTY = `
  with mine as materialized (
    select id from emails where id = any ($1::text[]) and ${HAS_CONTENT} order by id for no key update skip locked
  ),
  files as (
    delete from email_attachments a where a.email_id = any (array(select id from mine))
  )
  update emails set html = null, text = null where id = any (array(select id from mine))`;

const DELETE = `
  with mine as materialized (
    select id from emails where id = any ($1::text[]) order by id for update skip locked
  ),
  ${RECIPIENTS}
  delete from emails where id = any (array(select id from mine))`;

async function dropMail(
  pool: Pool,
  days: number,
  { age, indexed, drop }: { readonly age: string; readonly indexed: string; readonly drop: string },
): Promise<number> {
  const which = { table: 'emails', age, indexed, mayGo: NOT_WAITING, rows: MESSAGES_PER_STEP };
  const step = async (client: PoolClient, after: string) => {
    const { next, ids } = await readAgedPage(client, which, { after, days });
    const { rowCount } = ids.length === 0 ? { rowCount: 0 } : await client.query(drop, [ids]);
    return { next, ended: rowCount ?? 0 };
  };
  return inStepsByAge(pool, step);
}
