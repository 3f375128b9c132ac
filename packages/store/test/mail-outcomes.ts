import type { ReportedOutcome } from '../src/mail/end-mail.ts';

export type AcceptedAnswer = Pick<ReportedOutcome, 'providerMessageId' | 'notifications'>;

/** The provider accepted a message. */
export function accepted(answer: AcceptedAnswer): ReportedOutcome {
  return { ...answer, status: 'sent', error: null, next: null };
}

/** The provider refused a message, and said nothing about its recipients. */
export function refused(error: string): ReportedOutcome {
  return { status: 'failed', providerMessageId: null, notifications: [], error, next: null };
}
