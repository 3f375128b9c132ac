import { messageIdOf } from '@postrider/mail';
import type { ListedEmail } from '@postrider/store';

/** What the list and the single answer both say of a message, in the shape of Resend's. Nothing can be scheduled. */
export function emailObject(email: ListedEmail) {
  return {
    id: email.id,
    from: email.from,
    to: email.to,
    cc: email.cc,
    bcc: email.bcc,
    reply_to: email.replyTo,
    subject: email.subject,
    created_at: email.createdAt.toISOString(),
    scheduled_at: null,
    message_id: messageIdAfter(email),
    last_event: email.lastEvent,
    topic_id: email.topicId,
  };
}

/** By which those who have the mail know it: the provider's, where it sets one; null when none has been handed over. */
function messageIdAfter(email: ListedEmail): string | null {
  if (email.status !== 'sent') return null;
  return email.providerMessageId ?? messageIdOf({ emailId: email.id, from: email.from });
}
