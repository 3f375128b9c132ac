import { LIMITS, oneLineText, parseId, PATTERNS, valueAt } from '@postrider/domain';
import type { Topic, TopicStore } from '@postrider/store';
import { z } from 'zod';
import { json } from '../http/answer.ts';
import { topicBody } from '../http/body-rules.ts';
import { hasAny, parseFields, topicFieldRule } from '../http/fields.ts';
import { listAnswer } from '../http/list-answer.ts';
import { invalid, noSuch } from '../problems/answers.ts';
import { quoted } from '../problems/quoted.ts';
import type { Documented, KeyedRoute } from './route.ts';
import { deleted, idOf, named, nullableText, oneRequired, pageOf, text, time } from './schemas.ts';
import type { AnswerOf } from './schemas.ts';

/** Topic routes have no rate limit (contract 8, rule 3). */
const MANAGE = { scope: 'suppressions:manage', limited: false } as const;

export function topicRoutes(topics: TopicStore): readonly Documented[] {
  return [
    createTopic(topics),
    listTopics(topics),
    getTopic(topics),
    updateTopic(topics),
    deleteTopic(topics),
  ];
}

const subscription = z.enum(['opt_in', 'opt_out'], { error: 'is neither opt_in nor opt_out' });

const topicName = oneLineText(LIMITS.topicNameLength)
  .refine((name) => name.trim() !== '', { error: 'is blank' })
  .meta({ pattern: PATTERNS.shownLine });
const topicDescription = oneLineText(LIMITS.topicDescriptionLength).nullable();

const topicRequest = z
  .object({
    name: topicName,
    description: topicDescription.optional().transform((description) => description ?? null),
    default_subscription: subscription,
  })
  .meta({ id: 'TopicRequest' });

const createdTopic = named('topic', 'topic').meta({ id: 'CreatedTopic' });

function createTopic(topics: TopicStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'post',
    path: '/v1/topics',
    body: topicBody,
    docs: {
      operationId: 'createTopic',
      summary: 'Make a topic that recipients can unsubscribe from',
      request: topicRequest,
      success: { status: 200, body: createdTopic },
      refusals: ['400 validation-failed'],
    },
    async handle({ key, body }) {
      const parsed = parseFields(body, topicRequest, ['name', 'default_subscription'], topicFieldRule);
      if (!parsed.ok) return parsed.refusal;
      const { name, description, default_subscription: defaultSubscription } = parsed.fields;
      const id = await topics.create(key.accountId, { name, description, defaultSubscription });
      return { ...json<AnswerOf<typeof createdTopic>>(200, { object: 'topic', id }), written: 1 };
    },
  };
}

const topicFieldsShown = {
  id: idOf('topic'),
  name: text,
  description: nullableText,
  default_subscription: subscription,
  created_at: time,
};
const topicEntry = z.object(topicFieldsShown);
const topicPage = pageOf(topicEntry).meta({ id: 'TopicPage' });

function listTopics(topics: TopicStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'get',
    path: '/v1/topics',
    docs: {
      operationId: 'listTopics',
      summary: 'List topics, newest first',
      success: { status: 200, body: topicPage },
      paged: true,
      refusals: ['400 validation-failed'],
    },
    async handle({ key, query }) {
      return listAnswer(query, {
        noun: 'topic',
        read: (request) => topics.list(key.accountId, request),
        show: topicObject,
        refusalStatus: 400,
      });
    },
  };
}

const oneTopic = z.object({ object: z.literal('topic'), ...topicFieldsShown }).meta({ id: 'Topic' });

function getTopic(topics: TopicStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'get',
    path: '/v1/topics/:id',
    docs: {
      operationId: 'getTopic',
      summary: 'Read a topic',
      success: { status: 200, body: oneTopic },
      refusals: ['not-found'],
    },
    async handle({ key, id: pathId }) {
      const id = parseId('topic', pathId);
      const topic = id === null ? null : await topics.find(key.accountId, id);
      if (topic === null) return noSuch('topic');
      return json<AnswerOf<typeof oneTopic>>(200, { object: 'topic', ...topicObject(topic) });
    },
  };
}

const CHANGEABLE = ['name', 'description'] as const;

const topicUpdate = z
  .object({ name: topicName.exactOptional(), description: topicDescription.exactOptional() })
  .meta({
    id: 'TopicUpdate',
    ...oneRequired(CHANGEABLE),
    not: { required: ['default_subscription'] },
  });
const updatedTopic = named('topic', 'topic').meta({ id: 'UpdatedTopic' });

/** Ignores unknown fields: Resend's SDK also sends the `id`. */
function updateTopic(topics: TopicStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'patch',
    path: '/v1/topics/:id',
    body: topicBody,
    docs: {
      operationId: 'updateTopic',
      summary: 'Change the name or the description of a topic',
      request: topicUpdate,
      success: { status: 200, body: updatedTopic },
      refusals: ['400 validation-failed', 'not-found'],
    },
    async handle({ key, id: pathId, body }) {
      if (!hasAny(body, CHANGEABLE)) return topicFieldRule.missing(CHANGEABLE.join(' or '));
      if (hasAny(body, ['default_subscription'])) {
        const asked = quoted(valueAt(body, ['default_subscription']));
        return invalid(`default_subscription ${asked} cannot be changed.`, 400);
      }
      const parsed = parseFields(body, topicUpdate, [], topicFieldRule);
      if (!parsed.ok) return parsed.refusal;
      const id = parseId('topic', pathId);
      if (id === null || !(await topics.update(key.accountId, id, parsed.fields))) return noSuch('topic');
      return { ...json<AnswerOf<typeof updatedTopic>>(200, { object: 'topic', id }), written: 1 };
    },
  };
}

const deletedTopic = deleted('topic', 'topic').meta({ id: 'DeletedTopic' });

function deleteTopic(topics: TopicStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'delete',
    path: '/v1/topics/:id',
    docs: {
      operationId: 'deleteTopic',
      summary: 'Delete a topic, with its suppressions; its mail stays',
      success: { status: 200, body: deletedTopic },
      refusals: ['not-found'],
    },
    async handle({ key, id: pathId }) {
      const id = parseId('topic', pathId);
      if (id === null || !(await topics.delete(key.accountId, id))) return noSuch('topic');
      return {
        ...json<AnswerOf<typeof deletedTopic>>(200, { object: 'topic', id, deleted: true }),
        written: 1,
      };
    },
  };
}

/** A topic in the shape of Resend's. */
function topicObject(topic: Topic): AnswerOf<typeof topicEntry> {
  return {
    id: topic.id,
    name: topic.name,
    description: topic.description,
    default_subscription: topic.defaultSubscription,
    created_at: topic.createdAt.toISOString(),
  };
}
