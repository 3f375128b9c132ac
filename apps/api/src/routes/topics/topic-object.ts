import type { Topic } from '@postrider/store';

/** What every answer says of a topic, in the shape of Resend's. */
export function topicObject({ id, name, description, defaultSubscription, createdAt }: Topic) {
  return {
    id,
    name,
    description,
    default_subscription: defaultSubscription,
    created_at: createdAt.toISOString(),
  };
}
