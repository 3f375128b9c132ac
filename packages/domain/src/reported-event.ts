import type { NotificationDetail } from './event-data.ts';
import type { AccountId, EmailId } from './ids.ts';
import type { ProviderNotification } from './mail-outcome.ts';
import { plainAddresses } from './plain-address.ts';
import type { EventDraft } from './record-event.ts';

interface Report<Type extends ProviderNotification['type']> {
  readonly type: Type;
  /** All recipients that the notification names, each once, in the notification's order. Never empty. */
  readonly recipients: readonly string[];
  /** ISO 8601 UTC with milliseconds. */
  readonly occurredAt: string;
  readonly detail: NotificationDetail;
}

type TrackedType = 'email.opened' | 'email.clicked';

/** A provider's notification without the id of its message. It is plain JSON, so it can be stored as text. */
export type ReportedEvent =
  /** SES could not render the template, so the message was never sent. */
  | { readonly type: 'email.failed'; readonly error: string }
  /** The provider had accepted the message before this event. */
  | Report<Exclude<ProviderNotification['type'], TrackedType>>
  /** `machine`: probably a program opened or clicked. Null or missing: the provider does not say. */
  | (Report<TrackedType> & { readonly machine?: boolean | null });

/** The fields of the sent message that its event contains. */
export interface ReportedEmail {
  readonly id: EmailId;
  readonly accountId: AccountId;
  readonly from: string;
  readonly subject: string;
  /** As the customer wrote them. */
  readonly recipients: readonly string[];
}

type PostAcceptanceEvent = Exclude<ReportedEvent, { readonly type: 'email.failed' }>;

/** The type and the `data` of a notification's event (contract 2.3). */
export function reportedContent(event: PostAcceptanceEvent, emailId: EmailId) {
  const { recipients, occurredAt, detail } = event;
  const data = { email_id: emailId, recipients: [...recipients], occurred_at: occurredAt, detail };
  if (event.type === 'email.opened' || event.type === 'email.clicked') {
    return { type: event.type, data: { ...data, machine: event.machine ?? null } };
  }
  return { type: event.type, data };
}

/** The event of a notification, with `data` as in contract 2.3. */
export function reportedEventDraft(event: ReportedEvent, email: ReportedEmail): EventDraft {
  const { accountId, id, from, subject, recipients } = email;
  if (event.type === 'email.failed') {
    const data = { email_id: id, from, subject, error: event.error };
    return { type: event.type, accountId, data, recipients: plainAddresses(recipients) };
  }
  return { accountId, ...reportedContent(event, id) };
}
