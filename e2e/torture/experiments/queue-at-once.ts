import type { World } from '../harness/world/world.ts';

/**
 * Makes `count` causes in one transaction, each with its event and a delivery for every webhook of the
 * world's account. `record` has a transaction for each, and would take longer than the deliveries. No wake-up
 * follows: the relay's polling pass finds the deliveries.
 */
export async function queueAtOnce(world: World, count: number): Promise<void> {
  await world.query(
    `with made as materialized (
       select 'cause_' || gen_random_uuid() as cause, 'evt_' || replace(gen_random_uuid()::text, '-', '') as event
       from generate_series(1, $1::int)
     ), caused as (
       insert into torture.causes select cause, event from made
     ), recorded as (
       insert into events (id, account_id, type, created_at, data)
       select event, $2, 'email.sent', now(),
              json_build_object('email_id', cause, 'from', 'sender@example.com', 'subject', 'torture', 'error', null)
       from made
     )
     insert into deliveries (event_id, webhook_id)
     select made.event, w.id from made, webhooks w where w.account_id = $2`,
    [count, world.accountId],
  );
}
