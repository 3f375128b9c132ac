import type { BlamedAddress, EmailId, ReportedEvent } from '@postrider/domain';

/**
 * A notification becomes one event, for any number of recipients.
 *
 * Three ids may name the email, in this order: the tag `email_id`, the provider's message id, our Message-ID.
 * The Message-ID is read only when the tag is missing.
 */
export interface SesEvent {
  readonly kind: 'event';
  /** The value of the tag. It can be any text: SES does not check it. */
  readonly emailId: string | null;
  readonly providerMessageId: string | null;
  /** The id in the Message-ID header. It can belong to mail that is not ours. */
  readonly writtenEmailId: EmailId | null;
  readonly event: ReportedEvent;
  /** The addresses to suppress, each once, with the notification's case. Case does not matter. */
  readonly suppress: readonly BlamedAddress[];
}

export type SesReading = SesEvent | { readonly kind: 'ignored'; readonly why: string };
