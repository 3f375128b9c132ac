import type { Statement } from '../../db/statement.ts';

/**
 * Who of the recipients of messages is not to be written to: about anything, or about the message's topic.
 *
 * Guarantee: the topic is looked for in the snapshot of the suppressions about it. They go together, so either they are
 * found, or it is said that the topic is gone.
 *
 * For each message: $1 account, $2 topic or null, $3 addresses (lower case, the domain in ASCII) as a list of JSON.
 * Returns one row for each, in their order; in it each address once.
 */
export const suppressedAmong: Statement = {
  name: 'suppressed-among',
  text: `
    select
      array(
        select distinct s.address
        from suppressions s
        where s.account_id = m.account_id
          and s.address = any (array(select json_array_elements_text(m.addresses)))
          and s.topic_id in ('', coalesce(m.topic_id, ''))
        order by s.address
      ) as addresses,
      m.topic_id is not null
        and (select t.id from topics t where t.id = m.topic_id and t.account_id = m.account_id) is null as topic_gone
    from unnest($1::text[], $2::text[], $3::json[]) with ordinality as m (account_id, topic_id, addresses, at)
    order by m.at`,
};
