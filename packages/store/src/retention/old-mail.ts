import type { Pool } from 'pg';
import { byStatement, dropPages, forRetention, lacks, MESSAGES_PER_STEP } from '../db/bounded-step.ts';

/** A message that still waits to be sent needs its contents. */
const UNSENT_STAYS = {
  table: 'emails',
  mayGo: lacks('email_sends', 'email_id', 'page.id'),
  rows: MESSAGES_PER_STEP,
};

/** Deletes the bodies and attachments of messages older than `days`. @returns how many messages. */
export async function dropMailContents(pool: Pool, days: number): Promise<number> {
  const which = { ...UNSENT_STAYS, age: 'created_at', indexed: HAS_CONTENT };
  return dropPages(pool, which, days, byStatement(EMPTY));
}

/** Deletes messages that are older than `days`. @returns how many. */
export async function dropOldMail(pool: Pool, days: number): Promise<number> {
  const which = { ...UNSENT_STAYS, age: forRetention('created_at') };
  return dropPages(pool, which, days, byStatement(DELETE));
}

/** A CTE that deletes the keys of the recipients of the deleted messages in `mine`. */
export const RECIPIENTS = `
  recipients as (
    delete from email_recipients r where r.email_id = any (array(select id from mine))
  )`;

const HAS_CONTENT = '(html is not null or text is not null)';

/** Skips messages that a transaction with a notification has locked. The next pass takes them. */
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
