import { namesAddress } from '@postrider/domain';
import type { Pool } from 'pg';
import { inBoundedStep, MESSAGES_PER_STEP, ROWS_PER_STEP } from '../bounded-step.ts';
import { needleOf, NOTHING, outcomeOf, together } from './erasure.ts';
import type { Erased, Erasure } from './erasure.ts';

interface MailRow {
  readonly id: string;
  readonly at: string;
  readonly createdMs: number;
  /** Null where none of them can be the person's. */
  readonly addresses: readonly string[] | null;
}

/** The account's messages in the order of their index, addresses only. */
const PAGE = `
  select e.id, e.created_at::text as at, (extract(epoch from e.created_at) * 1000)::float8 as "createdMs",
         case when position($5 in lower(array_to_string(a.list, ' '))) > 0 then a.list end as addresses
  from (
    select id, created_at, from_address, to_addresses, cc_addresses, bcc_addresses, reply_to_addresses
    from emails
    where account_id = $1 and (created_at, id) > ($2::timestamptz, $3) and created_at <= $4::timestamptz
    order by created_at, id limit ${ROWS_PER_STEP}
  ) e
  cross join lateral (
    select e.from_address || e.to_addresses || e.cc_addresses || e.bcc_addresses || e.reply_to_addresses as list
  ) a
  order by e.created_at, e.id`;

/**
 * A message that waits for its hand-over is left. Of the others the id is kept as long as events may name it: whoever
 * records such an event holds the message, so all of them are there once it is gone.
 */
const DELETE = `
  with mine as materialized (
    select id from emails
    where id = any ($3::text[]) and not exists (select from email_sends s where s.email_id = emails.id)
    order by id for update skip locked
  ),
  kept as (
    insert into erased_emails (account_id, address, email_id) select $1, $2, id from mine on conflict do nothing
  )
  delete from emails where id = any (array(select id from mine)) returning id`;

/** Deletes the messages that an account sent in the person's name, or to the person. */
export async function eraseMail(pool: Pool, erasure: Erasure): Promise<Erased> {
  const { accountId, address, requestedAt, resumeFrom } = erasure;
  let total = NOTHING;
  let [at, id] = [resumeFrom, ''];
  for (;;) {
    const values = [accountId, at, id, requestedAt, needleOf(address)];
    const { rows } = await inBoundedStep(pool, (client) => client.query<MailRow>(PAGE, values));
    const found = rows.filter(({ addresses }) => namesAddress(addresses, address));
    for (let start = 0; start < found.length; start += MESSAGES_PER_STEP) {
      const some = found.slice(start, start + MESSAGES_PER_STEP);
      const gone = await inBoundedStep(pool, (client) =>
        client.query<{ id: string }>(DELETE, [accountId, address, some.map((mail) => mail.id)]),
      );
      total = together(
        total,
        outcomeOf(
          some,
          gone.rows.map((row) => row.id),
        ),
      );
    }
    const last = rows.at(-1);
    if (last === undefined) return total;
    [at, id] = [last.at, last.id];
  }
}
