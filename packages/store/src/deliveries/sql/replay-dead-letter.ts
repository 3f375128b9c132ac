import type { Statement } from '../../db/statement.ts';

/**
 * Replays a dead letter: removes it, queues its event again at once with a fresh set of attempts, and writes the
 * event back under its own id where retention has dropped it.
 *
 * Guarantee: of any number of concurrent replays exactly one returns a row. The webhook is locked first: a DELETE
 * that is under way is waited for, and then there is nothing to replay. Of one that is marked as removed there is nothing.
 *
 * The update on conflict changes nothing but the row's version: it locks an event that retention may be about to drop, and
 * tells retention, which goes by the version, of the new delivery.
 *
 * $1 account, $2 dead-letter id. Returns the webhook, or no row when the letter or its webhook is gone.
 */
export const replayDeadLetter: Statement = {
  name: 'replay-dead-letter',
  text: `
    with webhook as materialized (
      select w.id
      from webhooks w
      where w.account_id = $1 and w.removed_at is null
        and w.id = (select d.webhook_id from dead_letters d where d.id = $2 and d.account_id = $1)
      for key share of w
    ),
    letter as (
      delete from dead_letters d using webhook where d.id = $2 and d.webhook_id = webhook.id
      returning d.webhook_id, d.event_id, d.account_id, d.type, d.event_created_at, d.data
    ),
    event as (
      insert into events (id, account_id, type, created_at, data)
      select event_id, account_id, type, event_created_at, data from letter
      on conflict (id) do update set type = excluded.type
    )
    insert into deliveries (event_id, webhook_id)
    select event_id, webhook_id from letter
    returning webhook_id`,
};
