import type { Statement } from '../../db/statement.ts';

/**
 * Stores a domain that the provider has accepted.
 *
 * Guarantee: a name belongs to one account. Of any number of concurrent additions exactly one returns a row.
 *
 * $1 id, $2 account, $3 name, $4 region, $5 status, $6 records (JSON), $7 created at.
 */
export const addDomain: Statement = {
  name: 'add-domain',
  text: `
    insert into domains (id, account_id, name, region, status, records, created_at)
    values ($1, $2, $3, $4, $5::domain_status, $6::json, $7::timestamptz)
    on conflict (name) do nothing
    returning id`,
};
