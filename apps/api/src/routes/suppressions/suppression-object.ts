import type { Suppression } from '@postrider/store';

/** What every answer says of a suppression: Resend's shape, and the topic that it is about. */
export function suppressionObject({ id, address, topicId, origin, emailId, createdAt }: Suppression) {
  return {
    id,
    email: address,
    topic_id: topicId,
    origin,
    source_id: emailId,
    created_at: createdAt.toISOString(),
  };
}
