import { namesAddress } from '@postrider/domain';
import type { Pool, PoolClient } from 'pg';
import { inBoundedStep, lacks, nextStart, ROWS_PER_STEP } from '../db/bounded-step.ts';
import { mayName, needleOf, NOTHING, outcomeOf, subjectOf, together } from './erasure.ts';
import type { Erased, Erasure, Named } from './erasure.ts';
import { FURTHER_RECIPIENTS } from './old-events.ts';

/** Each step searches the attempts in every partition of the log, about forty. */
const EVENTS_PER_STEP = 50;

interface EventRow extends Named {
  readonly data: string;
  /** The event is about a message that this erasure has deleted. */
  readonly ofMail: boolean;
}

interface Page {
  readonly next: string | null;
  readonly found: readonly EventRow[];
}

/**
 * A page of all events by age. It returns those that may name the person. Rows with equal times are in one
 * page.
 */
const PAGE = `
  with page as materialized (
    select id, account_id, created_at, data from events
    where created_at > $1::timestamptz
    order by created_at fetch first ${ROWS_PER_STEP} rows with ties
  ),
  mine as materialized (
    select p.*, (
             select true from erased_emails m
             where m.account_id = $2 and m.address = $3
               and m.email_id = ${subjectOf('p.data')} limit 1
           ) is not null as of_mail
    from page p where p.account_id = $2
  )
  select ${nextStart('created_at', ROWS_PER_STEP)} as next,
         (select coalesce(json_agg(json_build_object('id', id, 'data', data, 'ofMail', of_mail,
                                                     'createdMs', extract(epoch from created_at) * 1000)), '[]')
          from mine
          where of_mail or (created_at <= $4::timestamptz and ${mayName('data', '$5')})) as found`;

/**
 * Runs after the lock, with a new snapshot: a replay writes its event before it adds the delivery. An event
 * with a dead letter stays for the next pass: a replay of the letter would write a deleted event back.
 */
const DELETE = `
  with deletable as materialized (
    select e.id from events e
    where e.id = any ($1::text[])
      and ${lacks('deliveries', 'event_id', 'e.id')} and ${lacks('dead_letters', 'event_id', 'e.id')}
  ),
  log as (
    delete from attempts where event_id = any (array(select id from deletable)) returning event_id
  ),
  gone as (
    delete from events where id = any (array(select id from deletable)) returning id, type, position, recipients
  ),
  ${FURTHER_RECIPIENTS}
  select array(select id from gone) as ids, (select count(*)::int from log) as attempts`;

/** Deletes the account's events that name the person or an erased message, with their logged attempts. */
export async function eraseEvents(pool: Pool, erasure: Erasure): Promise<Erased & { attempts: number }> {
  const { accountId, address, requestedAt, resumeFrom } = erasure;
  let [total, attempts] = [NOTHING, 0];
  for (let after = resumeFrom; ;) {
    const values = [after, accountId, address, requestedAt, needleOf(address)];
    const { rows } = await inBoundedStep(pool, (client) => client.query<Page>(PAGE, values));
    const [{ next, found }] = rows as [Page];
    const named = found.filter(({ ofMail, data }) => ofMail || namesAddress(JSON.parse(data), address));
    for (let start = 0; start < named.length; start += EVENTS_PER_STEP) {
      const some = named.slice(start, start + EVENTS_PER_STEP);
      const gone = await inBoundedStep(pool, (client) => deleteUnlocked(client, some));
      total = together(total, outcomeOf(some, gone.ids));
      attempts += gone.attempts;
    }
    if (next === null) return { ...total, attempts };
    after = next;
  }
}

async function deleteUnlocked(
  client: PoolClient,
  events: readonly Named[],
): Promise<{ ids: string[]; attempts: number }> {
  const { rows: mine } = await client.query<Named>(
    'select id from events where id = any ($1::text[]) order by id for update skip locked',
    [events.map(({ id }) => id)],
  );
  const { rows } = await client.query<{ ids: string[]; attempts: number }>(DELETE, [
    mine.map(({ id }) => id),
  ]);
  return rows[0] ?? { ids: [], attempts: 0 };
}
