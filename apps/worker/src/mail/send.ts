import { decideMailOutcome } from '@postrider/domain';
import type { HandOver, MailOutcome, RetrySchedule } from '@postrider/domain';
import type { Logger, Metrics } from '@postrider/runtime';
import type { MailHandOver, MailWork, TakenEmail } from '@postrider/store';
import { untilLeaseEnds } from '../until-lease-ends.ts';

export interface MailStages {
  readonly store: MailWork;
  readonly handOver: (email: TakenEmail) => Promise<HandOver>;
  readonly schedule: RetrySchedule;
  readonly leaseSeconds: number;
  readonly logger: Logger;
  readonly metrics: Metrics<'worker'>;
}

/** Who had unsubscribed from the topic went with it: nobody can say any more whom the message may reach. */
const TOPIC_GONE: HandOver = { kind: 'refused', error: 'the topic of the message was deleted' };

/**
 * Hands one message to the provider, once. Accepted or given up, its event is written in the transaction that says
 * so. A fault of our own rejects: nothing is recorded, no try counts, and the lease heals it.
 */
export async function sendMail(job: MailHandOver, stages: MailStages): Promise<void> {
  const takenAtMs = performance.now();
  const email = await stages.store.take(job, stages.leaseSeconds);
  if (email === null) return;
  if (email.earlyMs > 0) await new Promise((resolve) => setTimeout(resolve, email.earlyMs));
  const leaseEndsAtMs = takenAtMs + email.earlyMs + stages.leaseSeconds * 1000;
  const answer = email.topicGone ? TOPIC_GONE : await stages.handOver(email);
  const outcome = decideMailOutcome(answer, email.attemptsMade + 1, stages.schedule);
  const ours = await untilLeaseEnds(leaseEndsAtMs, () => record(stages.store, email, outcome));
  stages.metrics.mailSends.inc({ result: outcome.kind });
  stages.logger.info('mail.attempted', {
    email_id: email.emailId,
    account_id: email.accountId,
    attempt: email.attemptsMade + 1,
    outcome: outcome.kind,
    ...(outcome.kind === 'sent' ? {} : { error: outcome.error }),
    ...(ours ? {} : { unrecorded: true }),
  });
}

function record(store: MailWork, email: TakenEmail, outcome: MailOutcome): Promise<boolean> {
  switch (outcome.kind) {
    case 'sent':
      return store.sent(email, outcome.handOver);
    case 'failed':
      return store.failed(email, outcome.error);
    case 'retry':
      return store.retry(email, outcome.delayMs);
  }
}
