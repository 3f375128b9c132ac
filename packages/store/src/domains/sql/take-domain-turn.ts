import type { Statement } from '../../db/statement.ts';

/**
 * Takes the turn of work on one domain at the provider, if nobody has it or has had it for too long.
 *
 * Guarantee: a turn has one holder at a time. It ends by itself: a holder that crashed is in nobody's way for longer.
 *
 * $1 domain, $2 holder, $3 seconds until the turn ends by itself. Returns the domain, or no row when another has the turn.
 */
export const takeDomainTurn: Statement = {
  name: 'take-domain-turn',
  text: `
    insert into domain_turns as t (name, holder, ends_at)
    values ($1, $2, now() + make_interval(secs => $3::float8))
    on conflict (name) do update set holder = excluded.holder, ends_at = excluded.ends_at, account_id = null
    where t.ends_at <= now()
    returning t.name`,
};
