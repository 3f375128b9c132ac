import type { Statement } from '../statement.ts';

/**
 * Who of some recipients is not to be written to: about anything, or about the message's topic.
 *
 * $1 account, $2 addresses (lower case, the domain in ASCII), $3 topic or null. Returns each address once.
 */
export const suppressedAmong: Statement = {
  name: 'suppressed-among',
  text: `
    select distinct s.address
    from suppressions s
    where s.account_id = $1 and s.address = any ($2::text[]) and s.topic_id in ('', coalesce($3::text, ''))
    order by s.address`,
};
