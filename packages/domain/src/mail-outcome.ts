import { delayAfter } from './retry-schedule.ts';
import type { RetrySchedule } from './retry-schedule.ts';
import type { EventData } from './event-data.ts';

type ProviderEventType =
  | 'email.delivered'
  | 'email.delivery_delayed'
  | 'email.bounced'
  | 'email.soft_bounced'
  | 'email.complained'
  | 'email.rejected'
  | 'email.opened'
  | 'email.clicked';

/** A provider's report about a message that it had accepted. */
export type ProviderNotification = {
  [T in ProviderEventType]: {
    readonly type: T;
    readonly recipients: readonly string[];
    readonly detail: EventData<T>['detail'];
  };
}[ProviderEventType];

/** The provider's answer to one attempt to send a message. */
export type ProviderResult =
  | {
      readonly kind: 'accepted';
      readonly providerMessageId: string | null;
      /**
       * Reports that come with the answer: for sandbox recipients, and for recipients that an SMTP server
       * rejected.
       */
      readonly notifications: readonly ProviderNotification[];
    }
  /** The provider rejects the message for good. */
  | { readonly kind: 'refused'; readonly error: string }
  /** The provider is away or busy, or it asks us to try later. */
  | ({ readonly kind: 'deferred' } & MailFault);

export interface MailFault {
  /** The customer reads this: the provider's words, or a sentence without our inner error codes. */
  readonly error: string;
  /** The error code behind the sentence, if there is one. Only operators see it. */
  readonly code?: string | undefined;
}

export type MailOutcome =
  | { readonly kind: 'sent'; readonly result: Extract<ProviderResult, { kind: 'accepted' }> }
  | ({ readonly kind: 'retry'; readonly delayMs: number } & MailFault)
  | ({ readonly kind: 'failed' } & MailFault);

/** Decides what happens to the message. @param attempt 1 for the first attempt. */
export function decideMailOutcome(
  answer: ProviderResult,
  attempt: number,
  schedule: RetrySchedule,
): MailOutcome {
  if (answer.kind === 'accepted') return { kind: 'sent', result: answer };
  if (answer.kind === 'refused') return { kind: 'failed', error: answer.error };
  const delayMs = delayAfter(schedule, attempt);
  const { error, code } = answer;
  return delayMs === null
    ? { kind: 'failed', error: `gave up after ${attempt} attempts: ${error}`, code }
    : { kind: 'retry', delayMs, error, code };
}
