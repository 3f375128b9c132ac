import type { Pool } from 'pg';
import { inBoundedStep, ROWS_PER_STEP } from '../db/bounded-step.ts';
import { recipientAddress } from '../inbound/recipient-address.ts';
import { NOTHING, outcomeOf, together } from './erasure.ts';
import type { Erased, Erasure, Named } from './erasure.ts';

interface UnreadRow extends Named {
  readonly at: string;
  readonly recipients: readonly string[];
}

/** Rows with equal times are in one page. */
const PAGE = `
  select notification_id as id, created_at::text as at, recipients,
         (extract(epoch from created_at) * 1000)::float8 as "createdMs"
  from ses_mail
  where created_at > $1::timestamptz and created_at <= $2::timestamptz
  order by created_at fetch first ${ROWS_PER_STEP} rows with ties`;

/**
 * The addresses for which the account has an inbox or a routing rule, and those of a postmaster when it has
 * the inbox that the operator named. Whether a domain is verified does not count: it may be verified again.
 */
const OWN = `
  select a.address from unnest($2::text[]) a (address)
  where (select true from inboxes i where i.address = a.address and i.account_id = $1) is not null
     or (select true from inbound_routes r
         where r.match = any (array[a.address, '*@' || split_part(a.address, '@', 2)]) and r.account_id = $1
         limit 1) is not null
     or split_part(a.address, '@', 1) = 'postmaster'
        and (select true from inboxes i where i.postmaster and i.account_id = $1) is not null`;

/**
 * Finds mail that SES announced before the request, and that the account may receive. Only once the mail is
 * read, its addresses show whether it is from or for the person.
 *
 * @returns all this mail as pending.
 */
export async function unreadSesMail(
  pool: Pool,
  { accountId, requestedAt }: Pick<Erasure, 'accountId' | 'requestedAt'>,
): Promise<Erased> {
  let total = NOTHING;
  for (let after = '-infinity'; ;) {
    const page = await inBoundedStep(pool, async (client) => {
      const { rows } = await client.query<UnreadRow>(PAGE, [after, requestedAt]);
      const asked = new Set(
        rows.flatMap(({ recipients }) => recipients.flatMap((to) => recipientAddress(to) ?? [])),
      );
      const { rows: found } = await client.query<{ address: string }>(OWN, [accountId, [...asked]]);
      const own = new Set<string | null>(found.map(({ address }) => address));
      const unread = rows.filter(({ recipients }) => recipients.some((to) => own.has(recipientAddress(to))));
      return { last: rows.at(-1)?.at, unread };
    });
    total = together(total, outcomeOf(page.unread, []));
    if (page.last === undefined) return total;
    after = page.last;
  }
}
