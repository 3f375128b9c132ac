import type { TopicStore } from '@postrider/store';
import { listAnswer } from '../../http/list-answer.ts';
import type { Handle } from '../route.ts';
import { topicObject } from './topic-object.ts';

/** `GET /v1/topics`: the account's topics, the newest first. */
export function listTopics(topics: Pick<TopicStore, 'list'>): Handle {
  return ({ key, query }) =>
    listAnswer(query, {
      noun: 'topic',
      read: (request) => topics.list(key.accountId, request),
      show: topicObject,
      refusalStatus: 400,
    });
}
