import { LIMITS } from '@postrider/domain';
import type { TopicStore } from '@postrider/store';
import { z } from 'zod';
import { json } from '../../http/answer.ts';
import { parseFields, topicFields } from '../../http/fields.ts';
import { shownText } from '../../http/shown-text.ts';
import type { Handle } from '../route.ts';

const request = z.object({
  name: shownText(LIMITS.topicNameLength).refine((text) => text.trim() !== '', { error: 'is blank' }),
  description: shownText(LIMITS.topicDescriptionLength)
    .nullish()
    .transform((text) => text ?? null),
  default_subscription: z.enum(['opt_in', 'opt_out'], { error: 'is neither opt_in nor opt_out' }),
});

/** `POST /v1/topics`. */
export function createTopic(topics: Pick<TopicStore, 'create'>): Handle {
  return async ({ key, body }) => {
    const parsed = parseFields(body, request, ['name', 'default_subscription'], topicFields);
    if (!parsed.ok) return parsed.refusal;
    const { name, description, default_subscription: defaultSubscription } = parsed.fields;
    const id = await topics.create(key.accountId, { name, description, defaultSubscription });
    return json(200, { object: 'topic', id });
  };
}
