import { statement } from '../../db/statement.ts';

/**
 * Records that webhooks began to fail, or are healthy again.
 *
 * Only rows whose state changes are written, so the table is not written once per attempt. Webhooks that are
 * being removed are skipped, because the statement would have to wait for the removal.
 *
 * Guarantee: of all workers that see a change, the statement returns the webhook to one.
 *
 * $1 webhook ids, $2 whether each is failing. Returns the webhooks that changed.
 */
export const markHealth = statement('mark-health')`
    with changed as materialized (
      select w.id, n.failing
      from unnest($1::text[], $2::boolean[]) n (id, failing)
      join webhooks w on w.id = n.id and w.removed_at is null and (w.failing_since is not null) <> n.failing
      where w.id = any ($1::text[])
      order by w.id
      for no key update of w
    )
    update webhooks w
    set failing_since = case when changed.failing then now() end,
        recovered_at = case when not changed.failing then now() end
    from changed
    where w.id = changed.id and w.id = any ($1::text[])
    returning w.id as "webhookId", w.account_id as "accountId", w.endpoint`;
