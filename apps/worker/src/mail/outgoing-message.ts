import type { OutgoingMessage } from '@postrider/mail';
import type { TakenEmail } from '@postrider/store';

export interface OutgoingMessageParts {
  /** URL where the recipient unsubscribes with one click; null: none. */
  readonly unsubscribeUrlOf: (email: TakenEmail) => string | null;
}

/** Converts a taken message to the provider's format. */
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
