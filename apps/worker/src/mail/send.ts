import { decideMailOutcome } from '@postrider/domain';
import type { ProviderResult, MailOutcome, RetrySchedule } from '@postrider/domain';
import type { Semaphore } from '@postrider/limits';
import { withCode } from '@postrider/mail';
import type { OutgoingMessage } from '@postrider/mail';
import type { Logger, Metrics } from '@postrider/runtime';
import { StoreUnavailableError } from '@postrider/store';
import type { TakenEmail } from '@postrider/store';
import { during, StageFault } from '../stage-fault.ts';
import { untilLeaseEnds } from '../until-lease-ends.ts';
import type { MailBatches, SendJob } from './batches.ts';

export interface MailStages {
  readonly store: MailBatches;
  /**
   * A message holds a slot from its take to the provider's answer. A message that waits for a slot is not
   * taken.
   */
  readonly slots: Semaphore;
  readonly send: (email: TakenEmail) => Promise<ProviderResult>;
  readonly schedule: RetrySchedule;
  readonly leaseSeconds: number;
  readonly logger: Logger;
  readonly metrics: Metrics<'worker'>;
}

/** A message fails after this many internal faults, such as an outcome that cannot be recorded. */
const FAULTS_MAX = 8;
/** The list of unsubscribed recipients was deleted with the topic. So the message must not be sent. */
const TOPIC_GONE: ProviderResult = { kind: 'refused', error: 'the topic of the message was deleted' };
const GIVEN_UP: ProviderResult = { kind: 'refused', error: `gave up after ${FAULTS_MAX} internal faults` };

/**
 * Sends one message to the provider, once, or releases it when the worker stops first.
 *
 * The transaction that records "accepted" or "failed" also writes the event. A fault of our own rejects:
 * nothing is recorded, no try counts, and the lease brings the message back. After 8 such faults the message
 * fails, and the provider gets it no more.
 */
export async function sendMail(job: SendJob, stages: MailStages): Promise<void> {
  try {
    await sendOnce(job, stages);
  } catch (error) {
    if ((error instanceof StageFault ? error.cause : error) instanceof StoreUnavailableError) {
      // Postgres is the cause, not the message, so the fault does not count. The count is in Postgres: wait
      // until it is back.
      await untilLeaseEnds(Infinity, () => stages.store.forgiveFault(job));
    }
    throw error;
  }
}

async function sendOnce(job: SendJob, stages: MailStages): Promise<void> {
  const answered = await stages.slots.run(
    () => untilAnswered(job, stages),
    async () => {
      await stages.store.release(job);
      return null;
    },
  );
  if (answered === null) return;
  const { email, answer, leaseEndsAtMs } = answered;
  const outcome = decideMailOutcome(answer, email.attemptsMade + 1, stages.schedule);
  const recorded = await during(
    'record',
    untilLeaseEnds(leaseEndsAtMs, () => record(stages.store, email, outcome)),
  );
  report(email, outcome, recorded, stages);
}

/** @returns null for a stale or duplicate job. */
async function untilAnswered(job: SendJob, stages: MailStages) {
  const takenAtMs = performance.now();
  const email = await during('load', stages.store.take(job));
  if (email === null) return null;
  if (email.earlyMs > 0) await new Promise((resolve) => setTimeout(resolve, email.earlyMs));
  const leaseEndsAtMs = takenAtMs + email.earlyMs + stages.leaseSeconds * 1000;
  const answer = refusalOf(email) ?? (await during('hand_over', stages.send(email)));
  return { email, answer, leaseEndsAtMs };
}

/**
 * Converts a taken message to the provider's format.
 * @param unsubscribeUrl URL where the recipient unsubscribes with one click; null: none
 */
export function outgoingMessage(email: TakenEmail, unsubscribeUrl: string | null): OutgoingMessage {
  const { emailId, accountId, createdAt, draft, attachments, suppressed } = email;
  return { ...draft, emailId, accountId, createdAt, attachments, suppressed, unsubscribeUrl };
}

function report(email: TakenEmail, outcome: MailOutcome, recorded: boolean, stages: MailStages): void {
  const { metrics, logger } = stages;
  const ids = { email_id: email.emailId, account_id: email.accountId };
  metrics.mailSends.inc({ result: outcome.kind });
  if (recorded && email.faults >= FAULTS_MAX) {
    metrics.mailGivenUp.inc();
    logger.error('mail given up after faults of our own', { ...ids, faults: email.faults });
  }
  logger.info('mail.attempted', {
    ...ids,
    attempt: email.attemptsMade + 1,
    outcome: outcome.kind,
    ...(outcome.kind === 'sent' ? {} : { error: withCode(outcome.error, outcome.code) }),
    ...(recorded ? {} : { unrecorded: true }),
  });
}

/** The reason not to ask the provider; null: none. */
function refusalOf({ faults, topicGone, unverifiedDomain }: TakenEmail): ProviderResult | null {
  if (faults >= FAULTS_MAX) return GIVEN_UP;
  if (topicGone) return TOPIC_GONE;
  if (unverifiedDomain === null) return null;
  return { kind: 'refused', error: `the account has not verified the domain ${unverifiedDomain}` };
}

function record(store: MailBatches, email: TakenEmail, outcome: MailOutcome): Promise<boolean> {
  switch (outcome.kind) {
    case 'sent':
      return store.sent(email, outcome.result);
    case 'failed':
      return store.failed(email, outcome.error);
    case 'retry':
      return store.retry(email, outcome.delayMs);
  }
}
