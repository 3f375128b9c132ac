import type { Statement } from '../../db/statement.ts';

/**
 * Takes a domain from its account, and notes its name: the provider may still have it.
 *
 * Guarantee: the name is free and noted, or neither.
 *
 * $1 account, $2 name. Returns its id, or no row where the account has no such domain.
 */
export const releaseDomain: Statement = {
  name: 'release-domain',
  text: `
    with gone as (
      delete from domains where account_id = $1 and name = $2 returning id, name
    ),
    noted as (
      insert into released_domains (name) select name from gone on conflict (name) do nothing
    )
    select id from gone`,
};
