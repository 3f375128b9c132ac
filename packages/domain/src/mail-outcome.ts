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

/** What a provider reports about a message after it has accepted it. */
export type ProviderNotification = {
  [T in ProviderEventType]: {
    readonly type: T;
    readonly recipients: readonly string[];
    readonly detail: EventData<T>['detail'];
  };
}[ProviderEventType];

/** A provider's answer to one hand-over of a message. */
export type ProviderResult =
  | {
      readonly kind: 'accepted';
      readonly providerMessageId: string | null;
      /** What the provider reports at once: the sandbox's special recipients, and those an SMTP server turned down. */
      readonly notifications: readonly ProviderNotification[];
    }
  /** A final no. */
  | { readonly kind: 'refused'; readonly error: string }
  /** Not now: the provider is away, busy, or asks to come back. */
  | ({ readonly kind: 'deferred' } & MailFault);

export interface MailFault {
  /** For the customer: the provider's words, or a sentence without our inner error codes. */
  readonly error: string;
  /** For operators only: the error code behind the sentence, where there is one. */
  readonly code?: string | undefined;
}

export type MailOutcome =
  | { readonly kind: 'sent'; readonly result: Extract<ProviderResult, { kind: 'accepted' }> }
  | ({ readonly kind: 'retry'; readonly delayMs: number } & MailFault)
  | ({ readonly kind: 'failed' } & MailFault);

/** What a hand-over makes of a message. @param attempt 1 for the first hand-over. */
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
