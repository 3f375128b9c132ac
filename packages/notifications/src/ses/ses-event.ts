import type { BlamedAddress, EmailId, ReportedEvent } from '@postrider/domain';

/**
 * A notification becomes one event, for any number of recipients.
 *
 * Up to three ids tell which email it is about. The tag `email_id` decides. Without a known email there, the
 * provider's message id decides. Without that tag, our Message-ID in the headers decides last.
 */
export interface SesEvent {
  readonly kind: 'event';
  /** The value of the tag. It may not be an id of ours. */
  readonly emailId: string | null;
  readonly providerMessageId: string | null;
  /** The id in the Message-ID header. It may not belong to our mail. */
  readonly writtenEmailId: EmailId | null;
  readonly event: ReportedEvent;
  /** The addresses to suppress, each once, with the notification's case. Case does not matter. */
  readonly suppress: readonly BlamedAddress[];
}

export type SesReading = SesEvent | { readonly kind: 'ignored'; readonly why: string };
