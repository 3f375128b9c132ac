import type { OutgoingMessage } from '@postrider/mail';
import type { TakenEmail } from '@postrider/store';

export interface OutgoingMessageParts {
  /** Where the message's recipient can unsubscribe with one click; null: nowhere. */
  readonly unsubscribeUrlOf: (email: TakenEmail) => string | null;
}

/** A message in the worker's hands as the provider takes it. */
export function outgoingMessage(
  email: TakenEmail,
  { unsubscribeUrlOf }: OutgoingMessageParts,
): OutgoingMessage {
  const { emailId, accountId, createdAt, draft, attachments, suppressed } = email;
  return {
    ...draft,
    emailId,
    accountId,
    createdAt,
    attachments,
    suppressed,
    unsubscribeUrl: unsubscribeUrlOf(email),
  };
}
