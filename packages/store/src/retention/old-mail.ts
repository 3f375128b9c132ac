import type { Pool, PoolClient } from 'pg';
import { forRetention, MESSAGES_PER_STEP, inStepsByAge, readAgedPage } from '../db/bounded-step.ts';
import type { Chore } from '../db/bounded-step.ts';

/** A message that still waits to be sent needs its contents. */
const NOT_WAITING = 'not exists (select from email_sends s where s.email_id = page.id)';

/** Deletes the bodies and attachments of messages older than `days`. @returns how many messages. */
export async function dropMailContents(pool: Pool, days: number): Promise<number> {
  const indexed = '(html is not null or text is not null)';
  return dropMail(pool, days, { chore: 'mail contents', age: 'created_at', indexed, drop: EMPTY });
}

/** Deletes messages that are older than `days`. @returns how many. */
export async function dropOldMail(pool: Pool, days: number): Promise<number> {
  return dropMail(pool, days, {
    chore: 'old mail',
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

/** Skips messages that a provider report has locked. The next pass takes them. */
const EMPTY = `
  with mine as materialized (
    select id from emails where id = any ($1::text[]) order by id for no key update skip locked
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
  {
    chore,
    age,
    indexed,
    drop,
  }: { readonly chore: Chore; readonly age: string; readonly indexed: string; readonly drop: string },
): Promise<number> {
  const which = { table: 'emails', age, indexed, mayGo: NOT_WAITING, rows: MESSAGES_PER_STEP };
  const step = async (client: PoolClient, after: string) => {
    const { last, ids } = await readAgedPage(client, which, { after, days });
    const { rowCount } = ids.length === 0 ? { rowCount: 0 } : await client.query(drop, [ids]);
    return { last, ended: rowCount ?? 0 };
  };
  return inStepsByAge(pool, chore, step);
}
