import { namesAddress } from '@postrider/domain';
import type { Pool } from 'pg';
import { inBoundedStep, lacks, ROWS_PER_STEP } from '../db/bounded-step.ts';
import { mayName, messageIdIn, needleOf, NOTHING, outcomeOf, together } from './erasure.ts';
import type { Erased, Erasure, Named } from './erasure.ts';

/** Each step searches the attempts in every partition of the log, about forty. */
const LETTERS_PER_STEP = 50;

interface LetterRow extends Named {
  /** When the dead letter was made, for the next page. */
  readonly at: string;
  /** Null: it names neither an erased message nor the person. */
  readonly data: string | null;
  /** Its event is about an erased message. */
  readonly ofMail: boolean;
}

/**
 * The account's dead letters in index order. Their age is that of the event, because a replay creates the
 * event again.
 */
const PAGE = `
  select l.id, l.created_at::text as at, (extract(epoch from l.event_created_at) * 1000)::float8 as "createdMs",
         m.yes as "ofMail",
         case when m.yes or (l.event_created_at <= $4::timestamptz and ${mayName('l.data', '$6')})
              then l.data end as data
  from (
    select id, created_at, event_created_at, data
    from dead_letters
    where account_id = $1 and (created_at, id) > ($2::timestamptz, $3)
    order by created_at, id limit ${ROWS_PER_STEP}
  ) l
  cross join lateral (
    select (
      select true from erased_emails m
      where m.account_id = $1 and m.address = $5
        and m.email_id = ${messageIdIn('l.data')} limit 1) is not null as yes
  ) m
  order by l.created_at, l.id`;

/**
 * A letter that is being replayed is locked, so it is skipped. If the event still exists, its attempts stay
 * until the event is deleted.
 */
const DELETE = `
  with mine as materialized (
    select id, event_id from dead_letters where id = any ($1::text[]) order by id for update skip locked
  ),
  log as (
    delete from attempts
    where event_id = any (array(
      select event_id from mine where ${lacks('events', 'id', 'mine.event_id')}))
    returning event_id
  ),
  gone as (
    delete from dead_letters where id = any (array(select id from mine)) returning id
  )
  select array(select id from gone) as ids, (select count(*)::int from log) as attempts`;

/**
 * Deletes the account's dead letters that name the person or an erased message, with their logged attempts.
 */
export async function eraseDeadLetters(pool: Pool, erasure: Erasure): Promise<Erased & { attempts: number }> {
  const { accountId, address, requestedAt, resumeFrom } = erasure;
  let [total, attempts] = [NOTHING, 0];
  let [at, id] = [resumeFrom, ''];
  for (;;) {
    const values = [accountId, at, id, requestedAt, address, needleOf(address)];
    const { rows } = await inBoundedStep(pool, (client) => client.query<LetterRow>(PAGE, values));
    const named = rows.filter(
      ({ ofMail, data }) => data !== null && (ofMail || namesAddress(JSON.parse(data), address)),
    );
    for (let start = 0; start < named.length; start += LETTERS_PER_STEP) {
      const some = named.slice(start, start + LETTERS_PER_STEP);
      const { rows: gone } = await inBoundedStep(pool, (client) =>
        client.query<{ ids: string[]; attempts: number }>(DELETE, [some.map((letter) => letter.id)]),
      );
      total = together(total, outcomeOf(some, gone[0]?.ids ?? []));
      attempts += gone[0]?.attempts ?? 0;
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_PER_STEP) return { ...total, attempts };
    [at, id] = [last.at, last.id];
  }
}
