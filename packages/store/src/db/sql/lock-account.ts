import type { Statement } from '../statement.ts';

/**
 * Locks an account, so that what it has can be counted and added to by one transaction at a time.
 *
 * Guarantee: whoever counts in a later statement of the same transaction sees all that the former holder of the lock
 * added. The lock does not hold up rows that only refer to the account: they take a key share.
 *
 * $1 account. Returns its own limits; null: the installation's. No row when there is no such account.
 */
export const lockAccount: Statement = {
  name: 'lock-account',
  text: `
    select webhooks_max as "webhooksMax", domains_max as "domainsMax", unverified_domains_max as "unverifiedDomainsMax"
    from accounts where id = $1 for no key update`,
};
