import type { Statement } from '../../db/statement.ts';

/**
 * Writes down that webhooks began to fail, or answer well again. Touches only rows whose state changes, so the
 * table is not written at the rate of the attempts; and no webhook that is being removed, whose removal would be waited for.
 *
 * $1 webhook ids, $2 whether each is failing. Returns those that changed.
 */
export const markHealth: Statement = {
  name: 'mark-health',
  text: `
    with news as materialized (
      select w.id, n.failing
      from unnest($1::text[], $2::boolean[]) n (id, failing)
      join webhooks w on w.id = n.id and w.removed_at is null and (w.failing_since is not null) <> n.failing
      where w.id = any ($1::text[])
      order by w.id
      for no key update of w
    )
    update webhooks w
    set failing_since = case when news.failing then now() end
    from news
    where w.id = news.id and w.id = any ($1::text[])
    returning w.id`,
};
