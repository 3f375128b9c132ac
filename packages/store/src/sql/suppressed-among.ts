import type { Statement } from '../statement.ts';

/**
 * Who of a message's recipients is not to be written to: about anything, or about the message's topic.
 *
 * Guarantee: the topic is looked for in the snapshot of the suppressions about it. They go together, so either they are
 * found, or it is said that the topic is gone.
 *
 * $1 account, $2 addresses (lower case, the domain in ASCII), $3 topic or null. Returns one row, each address once.
 */
export const suppressedAmong: Statement = {
  name: 'suppressed-among',
  text: `
    select
      array(
        select distinct s.address
        from suppressions s
        where s.account_id = $1 and s.address = any ($2::text[]) and s.topic_id in ('', coalesce($3::text, ''))
        order by s.address
      ) as addresses,
      $3::text is not null
        and (select t.id from topics t where t.id = $3 and t.account_id = $1) is null as topic_gone`,
};
