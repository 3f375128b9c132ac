import { lockOrder } from '../../db/sql/lock-order.ts';
import type { Statement } from '../../db/statement.ts';

/**
 * Removes the suppressions about one topic.
 *
 * Guarantee: rows are locked in the order of `lockOrder`. Run once the topic is gone, so that no more can come.
 *
 * $1 topic.
 */
export const removeSuppressionsOfTopic: Statement = {
  name: 'remove-suppressions-of-topic',
  text: `
    with mine as materialized (
      select s.id
      from suppressions s
      where s.topic_id = $1 and s.topic_id <> ''
      order by ${lockOrder('s.address', 's.topic_id')}
      for update
    )
    delete from suppressions s using mine where s.id = mine.id`,
};
