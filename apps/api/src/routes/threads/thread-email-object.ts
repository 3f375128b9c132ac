import { sentMessageIds } from '@postrider/mail';
import type { EmailId } from '@postrider/domain';
import type { ThreadEmail } from '@postrider/store';

/** A message of a thread, in the shape of Resend's. @param awsRegion of SES; undefined: mail goes another way. */
export function threadEmailObject(email: ThreadEmail, awsRegion: string | undefined) {
  const messageId = idsOf(email, awsRegion).at(-1);
  return {
    id: email.id,
    direction: email.direction,
    from: email.from,
    to: email.to,
    cc: email.cc,
    bcc: email.bcc,
    reply_to: email.replyTo,
    subject: email.subject,
    message_id: messageId === undefined ? null : `<${messageId}>`,
    html: email.html,
    text: email.text,
    attachments: email.attachments,
    read: email.read,
    received_at: email.createdAt.toISOString(),
  };
}

/** The Message-IDs by which its readers may know it, without brackets, the likeliest last. */
export function idsOf(email: ThreadEmail, awsRegion: string | undefined): string[] {
  const { direction, id, from, providerMessageId, messageId } = email;
  if (direction === 'inbound') return messageId === null ? [] : [messageId];
  return sentMessageIds({ emailId: id as EmailId, from, providerMessageId }, awsRegion);
}
