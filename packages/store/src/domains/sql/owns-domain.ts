import type { Statement } from '../../db/statement.ts';

/**
 * Whether an account has verified a domain, by that exact name.
 *
 * $1 account, $2 domain. Returns a row when it has.
 */
export const ownsDomain: Statement = {
  name: 'owns-domain',
  text: `select id from domains where account_id = $1 and name = $2 and status = 'verified'`,
};
