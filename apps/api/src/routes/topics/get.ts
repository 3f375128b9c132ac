import { parseId } from '@postrider/domain';
import type { TopicStore } from '@postrider/store';
import { json } from '../../http/answer.ts';
import { noSuch } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';
import { topicObject } from './topic-object.ts';

/** `GET /v1/topics/{id}`. */
export function getTopic(topics: Pick<TopicStore, 'find'>): Handle {
  return async ({ key, id: written }) => {
    const id = parseId('topic', written);
    const topic = id === null ? null : await topics.find(key.accountId, id);
    return topic === null ? noSuch('topic') : json(200, { object: 'topic', ...topicObject(topic) });
  };
}
