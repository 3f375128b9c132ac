import { setTimeout as delay } from 'node:timers/promises';
import { decideMailOutcome, parseEmailAddress, plainAddress } from '@postrider/domain';
import type { ProviderResult, MailOutcome, RetrySchedule } from '@postrider/domain';
import type { Semaphore } from '@postrider/limits';
import { withCode } from '@postrider/mail';
import type { OutgoingMessage } from '@postrider/mail';
import type { Logger, Metrics } from '@postrider/runtime';
import { StoreUnavailableError } from '@postrider/store';
import type { RecordedAttempt, TakenEmail } from '@postrider/store';
import { during, StageFault } from '../stage-fault.ts';
import { untilPostgresAnswers } from '../until-postgres-answers.ts';
import type { MailBatches, SendJob } from './batches.ts';

export interface MailStages {
  readonly batches: MailBatches;
  /**
   * A message holds a slot from its take to the provider's answer. A message that waits for a slot is not
   * taken.
   */
  readonly providerSlots: Semaphore;
  readonly send: (email: TakenEmail) => Promise<ProviderResult>;
  /** A slot rests before its next message when the provider throttled its last one. */
  readonly restThrottledSlot: () => Promise<void>;
  readonly schedule: RetrySchedule;
  readonly leaseSeconds: number;
  readonly logger: Logger;
  readonly metrics: Metrics<'worker'>;
}

interface Answered {
  readonly email: TakenEmail;
  readonly answer: ProviderResult;
}

/** A message fails after this many internal faults, such as an outcome that cannot be recorded. */
const FAULTS_MAX = 8;
/** Two renewals may fail: the third one comes before the lease ends. */
const RENEWALS_PER_LEASE = 4;
/** The list of unsubscribed recipients was deleted with the topic. So the message must not be sent. */
const TOPIC_GONE: ProviderResult = {
  kind: 'refused',
  error: 'the topic of the message was deleted',
  notAsked: true,
};
/** Deferred: the message waits for the command `account resume` as long as the schedule lasts. */
const SUSPENDED: ProviderResult = { kind: 'deferred', error: 'the account is suspended', notAsked: true };
const GIVEN_UP: ProviderResult = {
  kind: 'refused',
  error: `gave up after ${FAULTS_MAX} internal faults`,
  notAsked: true,
};

class LeaseNotHeldError extends Error {
  override readonly message = 'the lease was not held until the provider got the message';
}

/**
 * Sends one message to the provider, once, or releases it when the worker stops first.
 *
 * The transaction that records `sent` or `failed` also writes the event. A fault of our own rejects:
 * nothing is recorded, no try counts, and the lease brings the message back. After 8 such faults the message
 * fails, and the provider gets it no more.
 */
export async function sendMail(job: SendJob, stages: MailStages): Promise<void> {
  try {
    await sendOnce(job, stages);
  } catch (error) {
    const cause = error instanceof StageFault ? error.cause : error;
    if (cause instanceof StoreUnavailableError || cause instanceof LeaseNotHeldError) {
      // Postgres or the machine was too slow, so the fault does not count against the message. The count is
      // in Postgres: wait until it is back.
      await untilPostgresAnswers(() => stages.batches.forgiveFault(job));
    }
    throw error;
  }
}

async function sendOnce(job: SendJob, stages: MailStages): Promise<void> {
  let renewal: NodeJS.Timeout | undefined;
  try {
    const unrecorded = await stages.providerSlots.run(
      async () => {
        const answered = await takeAndSend(job, stages, (email) => {
          renewal = renewing(email, stages);
        });
        if (answered?.answer.kind !== 'throttled') return answered;
        // Recorded before the slot rests: the next attempt takes the message anew, and so sees a new
        // suppression.
        await recordAnswer(answered, stages);
        await stages.restThrottledSlot();
        return null;
      },
      // The worker stops before a slot is free.
      async () => {
        await stages.batches.release(job);
        return null;
      },
    );
    if (unrecorded !== null) await recordAnswer(unrecorded, stages);
  } finally {
    clearInterval(renewal);
  }
}

/**
 * Records the outcome, however long Postgres is away: the provider has the message, and without a record it
 * would be sent again. The claim decides whether the message is still this worker's.
 */
async function recordAnswer({ email, answer }: Answered, stages: MailStages): Promise<void> {
  const progress = {
    attempt: email.attemptsMade + 1,
    recipients: recipientsOf(email),
    isRest: email.rest !== null,
    unconfirmed: email.unconfirmed,
  };
  const outcome = decideMailOutcome(answer, progress, stages.schedule);
  const recorded = await during(
    'record',
    untilPostgresAnswers(() => stages.batches.record(email, outcome)),
  );
  if (answer.kind === 'throttled') stages.metrics.mailThrottled.inc();
  else if (!('notAsked' in answer)) stages.metrics.mailSends.inc({ result: outcome.kind });
  if (answer.kind === 'unconfirmed') stages.metrics.mailUnconfirmed.inc();
  report(email, outcome, recorded, stages);
}

/**
 * Takes the message and gives it to the provider.
 *
 * @param onTaken runs before the provider gets the message.
 * @returns null for an old or repeated job
 */
async function takeAndSend(
  job: SendJob,
  stages: MailStages,
  onTaken: (email: TakenEmail) => void,
): Promise<Answered | null> {
  const beganMs = performance.now();
  const email = await during('load', stages.batches.take(job));
  if (email === null) return null;
  if (email.dueInMs > 0) await delay(email.dueInMs);
  await during('load', keepLease(email, beganMs + email.dueInMs, stages));
  onTaken(email);
  return { email, answer: refusalOf(email) ?? (await during('hand_over', stages.send(email))) };
}

/**
 * A slow load or a frozen worker uses up the lease. The provider gets the message only while the lease is
 * held: another worker may have it afterwards.
 *
 * @param leasedAtMs a time before the lease began
 */
async function keepLease(
  email: TakenEmail,
  leasedAtMs: number,
  { batches, leaseSeconds }: MailStages,
): Promise<void> {
  const usedPart = () => (performance.now() - leasedAtMs) / (leaseSeconds * 1000);
  if (usedPart() < 1 / RENEWALS_PER_LEASE) return;
  // Asked again after the renewal: the worker may have been frozen meanwhile.
  const isHeld = usedPart() < 1 && (await batches.renew(email)) && usedPart() < 1;
  if (!isHeld) throw new LeaseNotHeldError();
}

/** Renews the lease. A provider may take minutes. A worker that dies must not hold its mail for so long. */
function renewing(email: TakenEmail, { batches, leaseSeconds, logger }: MailStages): NodeJS.Timeout {
  return setInterval(
    () => {
      batches.renew(email).catch((error: unknown) => {
        logger.warn('lease of mail not renewed', { email_id: email.emailId, error });
      });
    },
    (leaseSeconds * 1000) / RENEWALS_PER_LEASE,
  );
}

/**
 * Converts a taken message to the provider's format.
 * @param unsubscribeUrl URL where the recipient unsubscribes with one click; null: none
 */
export function outgoingMessage(email: TakenEmail, unsubscribeUrl: string | null): OutgoingMessage {
  const { emailId, accountId, createdAt, draft, attachments, suppressed, rest: only } = email;
  return { ...draft, emailId, accountId, createdAt, attachments, suppressed, only, unsubscribeUrl };
}

function report(
  email: TakenEmail,
  outcome: MailOutcome,
  recorded: RecordedAttempt | null,
  stages: MailStages,
): void {
  const { metrics, logger } = stages;
  const ids = { email_id: email.emailId, account_id: email.accountId };
  const eventId = recorded?.eventId ?? null;
  if (recorded !== null && email.faults >= FAULTS_MAX) {
    metrics.mailGivenUp.inc();
    logger.error('mail given up after faults of our own', { ...ids, faults: email.faults });
  }
  logger.info('mail.attempted', {
    ...ids,
    attempt: email.attemptsMade + 1,
    outcome: outcome.kind,
    ...(outcome.kind === 'sent' ? {} : { error: withCode(outcome.error, outcome.code) }),
    ...(recorded === null ? { unrecorded: true } : {}),
    ...(eventId === null ? {} : { event_id: eventId }),
  });
}

/** The reason not to ask the provider; null: none. */
function refusalOf({
  faults,
  topicGone,
  accountSuspended,
  unverifiedDomain,
}: TakenEmail): ProviderResult | null {
  if (faults >= FAULTS_MAX) return GIVEN_UP;
  if (topicGone) return TOPIC_GONE;
  if (unverifiedDomain !== null) {
    const error = `the account has not verified the domain ${unverifiedDomain}`;
    return { kind: 'refused', error, notAsked: true };
  }
  return accountSuspended ? SUSPENDED : null;
}

/** The addresses that this attempt is for. An address that is written in two ways counts once. */
function recipientsOf({ draft, rest, suppressed }: TakenEmail): string[] {
  const written = rest ?? [...draft.to, ...draft.cc, ...draft.bcc];
  const byPlain = new Map<string, string>();
  for (const text of written) {
    const address = parseEmailAddress(text)?.address;
    if (address === undefined) continue;
    const plain = plainAddress(address) ?? address;
    if (!suppressed.includes(plain) && !byPlain.has(plain)) byPlain.set(plain, address);
  }
  return [...byPlain.values()];
}
