import type { TopicStore } from '@postrider/store';
import { topicBody } from '../../http/body-rules.ts';
import type { Route } from '../route.ts';
import { createTopic } from './create.ts';
import { deleteTopic } from './delete.ts';
import { getTopic } from './get.ts';
import { listTopics } from './list.ts';

/** Not limited (contract 8, rule 3). */
export function topicRoutes(topics: TopicStore): readonly Route[] {
  const manage = { scope: 'suppressions:manage', limited: false } as const;
  const unread = { ...manage, body: 'ignored' } as const;
  return [
    { ...manage, method: 'post', path: '/v1/topics', body: topicBody, handle: createTopic(topics) },
    { ...unread, method: 'get', path: '/v1/topics', handle: listTopics(topics) },
    { ...unread, method: 'get', path: '/v1/topics/:id', handle: getTopic(topics) },
    { ...unread, method: 'delete', path: '/v1/topics/:id', handle: deleteTopic(topics) },
  ];
}
