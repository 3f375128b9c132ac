import type { EmailId, ReportedEvent } from '@postrider/domain';

/**
 * Whose notification it is: the email that the tag `email_id` names decides, else the provider's message id, else, where
 * there is no such tag, the Message-ID that the mail was composed with. One of them is there.
 */
interface Origin {
  readonly kind: 'event';
  /** As the tag says; not necessarily an id of ours. */
  readonly emailId: string | null;
  readonly providerMessageId: string | null;
  /** As the header says; not necessarily of mail of ours. */
  readonly writtenEmailId: EmailId | null;
}

export interface SuppressionRequest {
  /** `local@domain`, case as the notification has it. */
  readonly address: string;
  readonly reason: 'bounce' | 'complaint';
}

/** One notification makes one event, however many recipients it names. */
export interface SesEvent extends Origin {
  readonly event: ReportedEvent;
  /** The addresses to which nothing more may be sent, each once (without regard to case). */
  readonly suppress: readonly SuppressionRequest[];
}

export type SesReading = SesEvent | { readonly kind: 'ignored'; readonly why: string };
