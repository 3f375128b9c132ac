import { BlobStoreUnavailableError } from '@postrider/blobs';
import type { ObjectReading, ObjectSource } from '@postrider/blobs';
import { pause } from '@postrider/limits';
import { periodicTask } from '@postrider/runtime';
import type { Logger, Metrics } from '@postrider/runtime';
import { heldReason, verdictsFromSes } from '@postrider/screening';
import type { ClaimedSesMail, SesMailWork } from '@postrider/store';
import type { MailPipeline, PipelineOutcome } from '../pipeline/mail-pipeline.ts';
import { timed } from '../pipeline/stage-timer.ts';

/** Messages in flight. Each has up to 10 MiB, and parsing needs about as much again. */
const CONCURRENT_MESSAGES = 4;
/** The receiver renews the lease while it processes a message: the stages together have no time limit. */
const LEASE_MS = 120_000;
/** Two of three renewals may fail before the lease ends. */
const RENEWALS_PER_LEASE = 3;
/** Interval of polling for rows. SES itself takes longer than this to notify us of a message. */
const POLL_MS = 1_000;
const COUNT_EVERY_MS = 5_000;
/** Pause before a message is tried again. */
const DELAY_MS = { first: 1_000, max: 60_000 };
/**
 * One try a minute for four days. Mail servers keep trying as long. Downtime of our processes does not count.
 */
const TRIES_MAX = 4 * 24 * 60;

export interface SesReceiverParts {
  readonly work: SesMailWork;
  readonly objects: ObjectSource;
  readonly pipeline: MailPipeline;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics<'inbound'>, 'inboundMessages' | 'inboundStageDuration' | 'inboundBacklog'>;
  /** Default: 1 s. */
  readonly pollMs?: number;
  /** Default: 120 s. */
  readonly leaseMs?: number;
}

/**
 * Receives the mail that SES stored and reported to the API. It claims a row, fetches the message, and passes
 * it to the pipeline. SES has judged the message already, so our own scanners do not run.
 */
export class SesReceiver {
  readonly #parts: SesReceiverParts;
  readonly #task: ReturnType<typeof periodicTask>;
  readonly #inFlight = new Set<Promise<void>>();
  #countedAtMs = -Infinity;

  constructor(parts: SesReceiverParts) {
    this.#parts = parts;
    this.#task = periodicTask({
      run: () => this.#run(),
      pauseMs: parts.pollMs ?? POLL_MS,
      onError: (error, again) => parts.logger[again ? 'debug' : 'warn']('mail of SES not claimed', { error }),
      onRecovery: () => parts.logger.info('mail of SES claimed again'),
    });
  }

  start(): void {
    this.#task.start();
  }

  /** Claims no more messages. Resolves when each message in flight is stored or deferred. */
  async stop(): Promise<void> {
    const stopped = this.#task.stop();
    this.#parts.objects.close();
    await stopped;
    await Promise.all(this.#inFlight);
  }

  async #run(): Promise<void> {
    try {
      await this.#claim();
    } finally {
      if (performance.now() - this.#countedAtMs >= COUNT_EVERY_MS) await this.#count();
    }
  }

  async #claim(): Promise<void> {
    const { work, leaseMs = LEASE_MS } = this.#parts;
    const rowsMax = CONCURRENT_MESSAGES - this.#inFlight.size;
    const claimed = rowsMax > 0 ? await work.claim({ rowsMax, leaseSeconds: leaseMs / 1_000 }) : [];
    for (const mail of claimed) this.#begin(mail);
  }

  /** A row that was claimed during the stop becomes due again at once, for another process. */
  #begin(mail: ClaimedSesMail): void {
    const { work, logger } = this.#parts;
    const receiving = (this.#task.stopping.aborted ? work.defer(mail, 0) : receiveOnce(this.#parts, mail))
      .catch((error: unknown) => {
        logger.warn('mail of SES left to its lease', { ...logFieldsOf(mail), error });
      })
      .finally(() => {
        this.#inFlight.delete(receiving);
        this.#task.wake();
      });
    this.#inFlight.add(receiving);
  }

  async #count(): Promise<void> {
    const { work, logger, metrics } = this.#parts;
    try {
      metrics.inboundBacklog.set(await work.count());
    } catch (error) {
      logger.warn('mail of SES not counted', { error });
    }
    this.#countedAtMs = performance.now();
  }
}

/** @throws StoreUnavailableError */
async function receiveOnce(parts: SesReceiverParts, mail: ClaimedSesMail): Promise<void> {
  const isLater = await withLease(parts, mail, () => tryOnce(parts, mail));
  if (isLater) await parts.work.defer(mail, delayMs(mail.claim));
}

/** Renews the lease while `receiving` runs. No renewal is running any more when this settles. */
async function withLease<T>(
  { work, logger, leaseMs = LEASE_MS }: SesReceiverParts,
  mail: ClaimedSesMail,
  receiving: () => Promise<T>,
): Promise<T> {
  const done = new AbortController();
  const { signal } = done;
  const renewing = (async () => {
    for (;;) {
      await pause(leaseMs / RENEWALS_PER_LEASE, signal);
      if (signal.aborted) return;
      // Until then no process claims the row: this renews the lease.
      await work.defer(mail, leaseMs).catch((error: unknown) => {
        logger.warn('lease of mail of SES not renewed', { ...logFieldsOf(mail), error });
      });
    }
  })();
  try {
    return await receiving();
  } finally {
    done.abort();
    await renewing;
  }
}

/** @returns true when the message must be tried again later */
async function tryOnce(parts: SesReceiverParts, mail: ClaimedSesMail): Promise<boolean> {
  // `claim` counts the claims of this row, so also its tries.
  if (mail.claim > TRIES_MAX) {
    await refuse(parts, mail, 'tried_out');
    return false;
  }
  const found = await fetchContent(parts, mail);
  if (found === null) return true;
  if (found.kind === 'read') return (await store(parts, mail, found.bytes)).kind === 'later';
  await refuse(parts, mail, found.kind);
  return false;
}

/** @returns null when S3 is unavailable */
async function fetchContent(
  { objects, logger, metrics }: SesReceiverParts,
  mail: ClaimedSesMail,
): Promise<ObjectReading | null> {
  const { location } = mail;
  if (location.kind === 'content') return { kind: 'read', bytes: location.bytes };
  try {
    return await timed(metrics, 'fetch', objects.read(location));
  } catch (error) {
    if (!(error instanceof BlobStoreUnavailableError)) throw error;
    metrics.inboundMessages.inc({ result: 'later', reason: 's3' });
    logger.warn('message not stored', { reason: 's3', ...logFieldsOf(mail), error });
    return null;
  }
}

async function store(
  { pipeline }: SesReceiverParts,
  mail: ClaimedSesMail,
  raw: Buffer,
): Promise<PipelineOutcome> {
  const { source: mailFrom, recipients } = mail;
  const verdicts = verdictsFromSes(mail.verdicts);
  const screened = { auth: verdicts.auth, heldReason: heldReason(verdicts) };
  return pipeline.process({
    raw,
    content: raw,
    client: mail.notificationId, // SES does not name the client, so each message has its own
    mailFrom,
    recipients,
    claim: mail,
    logFields: logFieldsOf(mail),
    screen: async () => screened,
  });
}

async function refuse(
  { work, logger, metrics }: SesReceiverParts,
  mail: ClaimedSesMail,
  reason: 'gone' | 'too_big' | 'tried_out',
): Promise<void> {
  if (!(await work.end(mail))) return; // another process has claimed the row
  metrics.inboundMessages.inc({ result: 'refused', reason });
  logger.warn('message.refused', { reason, ...logFieldsOf(mail) });
}

/** Log fields that find the message at SES and SNS. */
function logFieldsOf({ providerMessageId, notificationId }: ClaimedSesMail) {
  return { ses_message_id: providerMessageId, sns_message_id: notificationId };
}

/** The delay doubles with each claim, up to `DELAY_MS.max`. */
function delayMs(claim: number): number {
  return Math.min(DELAY_MS.first * 2 ** (claim - 1), DELAY_MS.max);
}
