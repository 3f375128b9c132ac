import { namesAddress } from '@postrider/domain';
import type { Pool, PoolClient } from 'pg';
import { forRetention, inBoundedStep, lacks, nextStart, ROWS_PER_STEP } from '../db/bounded-step.ts';
import { hasPosition } from '../events/sql/list-events.ts';
import { mayName, messageIdIn, needleOf, NOTHING, outcomeOf, together } from './erasure.ts';
import type { Erased, Erasure, Named } from './erasure.ts';
import { FURTHER_RECIPIENTS } from './old-events.ts';

/** Each step searches the attempts in every partition of the log, about forty. */
const EVENTS_PER_STEP = 50;

interface EventRow extends Named {
  readonly data: string;
  /** The event is about a message that this erasure has deleted. */
  readonly ofMail: boolean;
}

interface Start {
  /** All types that the account's events have. */
  readonly types: readonly string[];
  /** Earlier positions have events from before `resumeFrom`. */
  readonly position: string;
}

interface Page {
  readonly next: string | null;
  readonly found: readonly EventRow[];
}

/**
 * Finds where a pass begins. An event gets its time, then its position. The day in between allows for the
 * time until the commit, and for events that a process of an earlier release dated. Types are read from the
 * index, as an older or newer release may have other types.
 */
const START = `
  with recursive kinds as (
    (select e.type from events e where e.account_id = $1 and ${hasPosition('e')} order by e.type limit 1)
    union all
    select (select e.type from events e
            where e.account_id = $1 and e.type > k.type and ${hasPosition('e')} order by e.type limit 1)
    from kinds k where k.type is not null
  )
  select array(select type from kinds where type is not null) as types,
         coalesce((select min(earlier.position)
                   from (select position from events where created_at <= $2::timestamptz - interval '24 hours'
                         order by created_at desc limit ${ROWS_PER_STEP}) earlier), 0)::text as position`;

/**
 * A page of the account's events. Returns the events that may name the person. $1 account, $2 address, $3
 * time of the request, $4 needle, $5 where the page starts, $6 type.
 *
 * @param rows the query of the page. `at` is its order. Rows with equal values are in one page.
 */
function page(rows: string): string {
  return `
  with page as materialized (${rows}
  ),
  marked as materialized (
    select p.*, (
             select true from erased_emails m
             where m.account_id = $1 and m.address = $2
               and m.email_id = ${messageIdIn('p.data')} limit 1
           ) is not null as of_mail
    from page p
  )
  select ${nextStart('at', ROWS_PER_STEP)} as next,
         (select coalesce(json_agg(json_build_object('id', id, 'data', data, 'ofMail', of_mail,
                                                     'createdMs', extract(epoch from created_at) * 1000)), '[]')
          from marked
          where of_mail or (created_at <= $3::timestamptz and ${mayName('data', '$4')})) as found`;
}

const PAGE_OF_TYPE = page(`
    select id, created_at, data, position as at from events
    where account_id = $1 and type = $6 and ${hasPosition('events')} and position > $5::bigint
    order by position fetch first ${ROWS_PER_STEP} rows with ties`);

/** A page of events that a replay wrote back, by age. */
const PAGE_WITHOUT_POSITION = page(`
    select id, created_at, data, ${forRetention('created_at')} as at from events
    where account_id = $1 and position is null and ${forRetention('created_at')} > $5::timestamptz
    order by ${forRetention('created_at')} fetch first ${ROWS_PER_STEP} rows with ties`);

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
  const { address } = erasure;
  let [total, attempts] = [NOTHING, 0];
  for await (const found of pagesOf(pool, erasure)) {
    const named = found.filter(({ ofMail, data }) => ofMail || namesAddress(JSON.parse(data), address));
    for (let start = 0; start < named.length; start += EVENTS_PER_STEP) {
      const some = named.slice(start, start + EVENTS_PER_STEP);
      const gone = await inBoundedStep(pool, (client) => deleteUnlocked(client, some));
      total = together(total, outcomeOf(some, gone.ids));
      attempts += gone.attempts;
    }
  }
  return { ...total, attempts };
}

/**
 * Events without a position come last: if retention deletes an event and a replay writes it back, the event
 * loses its position, and never gets one.
 */
async function* pagesOf(pool: Pool, erasure: Erasure): AsyncGenerator<readonly EventRow[]> {
  const { accountId, resumeFrom } = erasure;
  const { rows } = await inBoundedStep(pool, (client) => client.query<Start>(START, [accountId, resumeFrom]));
  const [{ types, position }] = rows as [Start];
  for (const type of types)
    yield* pagesAfter(position, { pool, erasure, query: PAGE_OF_TYPE, lastValues: [type] });
  yield* pagesAfter(resumeFrom, { pool, erasure, query: PAGE_WITHOUT_POSITION, lastValues: [] });
}

async function* pagesAfter(
  start: string,
  {
    pool,
    erasure,
    query,
    lastValues,
  }: { pool: Pool; erasure: Erasure; query: string; lastValues: readonly string[] },
): AsyncGenerator<readonly EventRow[]> {
  const { accountId, address, requestedAt } = erasure;
  for (let after: string | null = start; after !== null;) {
    const values = [accountId, address, requestedAt, needleOf(address), after, ...lastValues];
    const { rows } = await inBoundedStep(pool, (client) => client.query<Page>(query, values));
    const [{ next, found }] = rows as [Page];
    yield found;
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
