import type { AccountId, EmailId, EventData, EventDraft, NotificationDetail } from '@postrider/domain';

/** Whose notification it is: the email that the tag `email_id` names decides, else the provider's message id. One of both is there. */
interface Origin {
  readonly kind: 'event';
  /** As the tag says; not necessarily an id of ours. */
  readonly emailId: string | null;
  readonly providerMessageId: string | null;
}

/** The template could not be rendered: the message was never sent. */
interface SesFailure extends Origin {
  readonly type: 'email.failed';
  readonly error: string;
}

/** What happened to a message after SES had accepted it. */
interface SesReport extends Origin {
  readonly type:
    | 'email.delivered'
    | 'email.delivery_delayed'
    | 'email.bounced'
    | 'email.soft_bounced'
    | 'email.complained'
    | 'email.rejected'
    | 'email.opened'
    | 'email.clicked';
  /** Everyone the notification names, each once, in its order; never empty. */
  readonly recipients: readonly string[];
  /** ISO 8601 UTC with milliseconds. */
  readonly occurredAt: string;
  readonly detail: NotificationDetail;
  /** The addresses to which nothing more may be sent, each once (without regard to case). */
  readonly suppress: readonly SuppressionWish[];
}

export interface SuppressionWish {
  /** `local@domain`, case as the notification has it. */
  readonly address: string;
  readonly reason: 'bounce' | 'complaint';
}

/** One notification makes one event, however many recipients it names. */
export type SesEvent = SesFailure | SesReport;

export type SesReading = SesEvent | { readonly kind: 'ignored'; readonly why: string };

/** What the store knows of the email that a notification is about. */
interface NotifiedEmail {
  readonly id: EmailId;
  readonly accountId: AccountId;
  readonly from: string;
  readonly subject: string;
}

/** The event that a notification makes for its email, with `data` as contract 2.3 has it. */
export function eventDraftOf(event: SesEvent, email: NotifiedEmail): EventDraft {
  const { accountId, id, from, subject } = email;
  if (event.type === 'email.failed') {
    return { type: event.type, accountId, data: { email_id: id, from, subject, error: event.error } };
  }
  const data: EventData<SesReport['type']> = {
    email_id: id,
    recipients: [...event.recipients],
    occurred_at: event.occurredAt,
    detail: event.detail,
  };
  return { type: event.type, accountId, data };
}
