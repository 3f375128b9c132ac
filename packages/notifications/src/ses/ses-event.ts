import type { EmailId, ReportedEvent } from '@postrider/domain';

/**
 * The email that a notification is about. The tag `email_id` decides. Without a known email there, the
 * provider's message id decides. Without that tag, our Message-ID in the headers decides last. At least one
 * is present.
 */
interface Origin {
  readonly kind: 'event';
  /** The value of the tag. It may not be an id of ours. */
  readonly emailId: string | null;
  readonly providerMessageId: string | null;
  /** The id in the Message-ID header. It may not belong to our mail. */
  readonly writtenEmailId: EmailId | null;
}

export interface SuppressionRequest {
  /** `local@domain`, with the notification's case. */
  readonly address: string;
  readonly reason: 'bounce' | 'complaint';
}

/** A notification becomes one event, for any number of recipients. */
export interface SesEvent extends Origin {
  readonly event: ReportedEvent;
  /** The addresses to suppress, each once. Case does not matter. */
  readonly suppress: readonly SuppressionRequest[];
}

export type SesReading = SesEvent | { readonly kind: 'ignored'; readonly why: string };
