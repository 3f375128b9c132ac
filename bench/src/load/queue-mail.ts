import { newId } from '@postrider/domain';
import type { AccountId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import type { Installation } from '../fixture/installation.ts';

/** Queues messages of about 2 KB in one transaction, like many `POST /v1/emails`, and wakes the relay. */
export async function queueMail(
  { database }: Installation,
  accountId: AccountId,
  count: number,
): Promise<void> {
  const ids = Array.from({ length: count }, () => newId('email', systemClock));
  await database.query(
    `with mail as (
       insert into emails (id, account_id, kind, status, last_event, from_address, from_domain, to_addresses, cc_addresses,
                           bcc_addresses, reply_to_addresses, subject, html, text, headers, created_at)
       select id, $2, 'live', 'queued', 'queued', 'Bench <bench@example.com>', 'example.com', '{someone@example.com}', '{}',
              '{}', '{}', 'A message of the benchmark', $3, $4, '{}', now()
       from unnest($1::text[]) id
       returning id
     )
     insert into email_sends (email_id) select id from mail`,
    [ids, accountId, `<p>${'words '.repeat(170)}</p>`, 'words '.repeat(130)],
  );
  await database.query(`select pg_notify('postrider_wake', 'mail')`);
}
