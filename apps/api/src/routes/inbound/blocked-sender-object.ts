import type { BlockedSender } from '@postrider/store';

/** What every answer says of a blocked sender. */
export function blockedSenderObject({ id, sender, createdAt }: BlockedSender) {
  return { object: 'blocked_sender', id, sender, created_at: createdAt.toISOString() };
}
