import { statement } from '../statement.ts';

/**
 * Locks an account, so that one transaction at a time counts its rows and adds to them.
 *
 * Guarantee: a later statement of the same transaction sees every row that earlier holders of the lock added.
 * Inserts that only refer to the account do not wait, because they take a key share.
 *
 * $1 account. Returns the limits of the account; null: those of the installation. No row when there is no
 * such account.
 */
export const lockAccount = statement('lock-account')`
    select webhooks_max as "webhooksMax", domains_max as "domainsMax", unverified_domains_max as "unverifiedDomainsMax"
    from accounts where id = $1 for no key update`;
