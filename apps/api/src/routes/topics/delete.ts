import { parseId } from '@postrider/domain';
import type { TopicStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import { noSuch } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';

/** `DELETE /v1/topics/{id}`: the suppressions about it go with it, its mail stays. */
export function deleteTopic(topics: Pick<TopicStore, 'delete'>): Handle {
  return async ({ key, id: written }) => {
    const id = parseId('topic', written);
    const deleted = id !== null && (await topics.delete(key.accountId, id));
    return deleted ? json(200, { object: 'topic', id, deleted: true }) : noSuch('topic');
  };
}
