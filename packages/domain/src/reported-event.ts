import type { NotificationDetail } from './event-data.ts';
import type { AccountId, EmailId } from './ids.ts';
import type { EventDraft } from './record-event.ts';

/** What the provider reports of a message, whosever the message is. Nothing but JSON: it can be kept as text. */
export type ReportedEvent =
  /** The template could not be rendered: the message was never sent. */
  | { readonly type: 'email.failed'; readonly error: string }
  /** What happened to a message after the provider had accepted it. */
  | {
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
    };

/** The message that a report is about, as far as its event tells of it. */
export interface ReportedEmail {
  readonly id: EmailId;
  readonly accountId: AccountId;
  readonly from: string;
  readonly subject: string;
}

/** Of a message that the provider had accepted. */
type PostAcceptanceEvent = Exclude<ReportedEvent, { readonly type: 'email.failed' }>;

/** What the event of such a report tells (contract 2.3). */
export function reportedEventData({ recipients, occurredAt, detail }: PostAcceptanceEvent, emailId: EmailId) {
  return { email_id: emailId, recipients: [...recipients], occurred_at: occurredAt, detail };
}

/** The event that a report makes for its message, with `data` as contract 2.3 has it. */
export function reportedEventDraft(event: ReportedEvent, email: ReportedEmail): EventDraft {
  const { accountId, id, from, subject } = email;
  if (event.type === 'email.failed') {
    return { type: event.type, accountId, data: { email_id: id, from, subject, error: event.error } };
  }
  return { type: event.type, accountId, data: reportedEventData(event, id) };
}
