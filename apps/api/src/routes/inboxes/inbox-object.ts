import type { Inbox } from '@postrider/store';

/** What the list says of an inbox, in the shape of Resend's. */
export function inboxObject({
  id,
  name,
  address,
  fromName,
  unread,
  lastReceived,
  createdAt,
  updatedAt,
}: Inbox) {
  return {
    id,
    name,
    email_address: address,
    from_name: fromName,
    unread,
    last_received: lastReceived?.toISOString() ?? null,
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  };
}
