import { randomInt } from 'node:crypto';
import { createSecretBox, createUnsubscribeTokens, retrySchedule } from '@postrider/domain';
import type { Clock, EmailId } from '@postrider/domain';
import { Semaphore } from '@postrider/limits';
import { createMailProvider } from '@postrider/mail';
import type { MailProviderOptions } from '@postrider/mail';
import { AddressGuard, EndpointClient } from '@postrider/outbound';
import { Consumer } from '@postrider/queue';
import type { MailJob, QueueIdentityReader, QueueLocation } from '@postrider/queue';
import { ATTEMPTS_PER_SLOT, slotsPerWorker } from '@postrider/runtime';
import type { ConfigurationOf, Lifecycle, Logger, Metrics } from '@postrider/runtime';
import { createDeliveryWork, createFleet, createMailWork, lockWorkerNumber } from '@postrider/store';
import type { createPool, Database, DeliveryClaim } from '@postrider/store';
import { createAnnouncements } from './announcements.ts';
import { makeAttempt } from './delivery/attempt.ts';
import { deliver } from './delivery/deliver.ts';
import type { DeliveryStages } from './delivery/deliver.ts';
import { createLoader } from './delivery/load.ts';
import { createOpenedSecrets } from './delivery/opened-secrets.ts';
import { createRecorder } from './delivery/record.ts';
import { createReporter } from './delivery/report.ts';
import { MailBatches } from './mail/batches.ts';
import { quarantineFaulty } from './mail/quarantine.ts';
import { outgoingMessage, sendMail } from './mail/send.ts';
import type { MailStages } from './mail/send.ts';
import { createUnsubscribeUrls } from './mail/unsubscribe-url.ts';
import { StageFault } from './stage-fault.ts';

export interface WorkerParts {
  readonly config: ConfigurationOf<'worker'>;
  /** The provider of the installation. The environment may leave it unset. */
  readonly mailProvider: MailProviderOptions['provider'];
  readonly location: QueueLocation;
  readonly queueIdentity: Pick<QueueIdentityReader, 'last'>;
  readonly database: Database;
  /** The pool for leases: commits need not be durable. */
  readonly leases: ReturnType<typeof createPool>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics<'worker'>;
  readonly onQueueError: (error: Error) => void;
  readonly onPostgresError: (error: Error) => void;
}

/** Part of the stop's time that stays for closing connections. */
const STOP_RESERVE_MS = 2_000;
/** Messages per provider slot. While one message's outcome is recorded, the next one uses the slot. */
const MAIL_JOBS_PER_SLOT = 2;
const WORKER_NUMBER_MAX = 2 ** 31 - 1;
/** Time to record the outcome, after the provider's own time limit. */
const MAIL_LEASE_MARGIN_SECONDS = 15;

/** Builds the worker's three consumers and adds them to the start list. */
export function addWorker(lifecycle: Lifecycle, parts: WorkerParts): void {
  const { config, location, onQueueError } = parts;
  const { deliveryConcurrency, slowLaneConcurrency } = config;
  const workerNumber = randomInt(1, WORKER_NUMBER_MAX);
  const numberLock = lockWorkerNumber(workerNumber, {
    databaseUrl: config.databaseUrl,
    applicationName: 'postrider-worker',
    onError: parts.onPostgresError,
  });
  // The lock is held until the last attempt has ended.
  lifecycle.add('number lock', { start: async () => numberLock.start(), stop: () => numberLock.stop() });
  const stages = createDeliveryStages(parts, workerNumber);
  // Each lane has its own connections, per host as many as it may have attempts. Otherwise webhooks that
  // share a host would wait for each other within their own time limits.
  const fastAttempts = ATTEMPTS_PER_SLOT * deliveryConcurrency;
  const fast = addLane(lifecycle, parts, { stages, attemptsMax: fastAttempts });
  const slow = addLane(lifecycle, parts, { stages, attemptsMax: slowLaneConcurrency });
  const stopping = new AbortController();
  const mailStages = addMailStages(lifecycle, parts, stopping.signal);

  const consumers = {
    fast: new Consumer(location, 'fast', {
      concurrency: fastAttempts,
      handle: fast,
      lockSeconds: config.leaseSeconds,
      onError: onQueueError,
    }),
    slow: new Consumer(location, 'slow', {
      concurrency: slowLaneConcurrency,
      handle: slow,
      lockSeconds: config.leaseSeconds,
      onError: onQueueError,
    }),
    mail: new Consumer(location, 'mail', {
      concurrency: MAIL_JOBS_PER_SLOT * config.mailConcurrency,
      handle: loggingFaults<MailJob>(
        parts,
        'mail',
        quarantineFaulty((job) => sendMail({ ...job, emailId: job.emailId as EmailId }, mailStages)),
        (job) => ({ email_id: job.emailId }),
      ),
      lockSeconds: mailStages.leaseSeconds,
      onError: onQueueError,
    }),
  };
  // One part, so all three stop taking jobs at the same moment. Mail that waits for a slot is released.
  lifecycle.add('consumers', {
    start: async () => Object.values(consumers).forEach((consumer) => consumer.start()),
    async stop(remainingMs) {
      stopping.abort();
      await Promise.all(Object.values(consumers).map((each) => each.stop(remainingMs - STOP_RESERVE_MS)));
    },
  });
  lifecycle.add(
    'announcements',
    createAnnouncements({
      fleet: createFleet(parts.leases),
      workerNumber,
      slots: slotsPerWorker(config),
      queue: parts.queueIdentity.last,
      logger: parts.logger,
    }),
  );
}

/** The stages that both lanes share. */
function createDeliveryStages(parts: WorkerParts, workerNumber: number): Omit<DeliveryStages, 'attempt'> {
  const { config, clock, logger, metrics } = parts;
  const store = createDeliveryWork(parts.leases, parts.database.pool, {
    onOrphan({ deliveryId, claim, eventId, webhookId }) {
      metrics.orphanedDeliveries.inc();
      const ids = { delivery_id: deliveryId, claim, event_id: eventId, webhook_id: webhookId };
      logger.error('delivery ended: its event is gone', ids);
    },
    onOrphanLeft: ({ deliveryId }, error) =>
      leftToLease(parts, 'delivery', { delivery_id: deliveryId }, new StageFault('load', error)),
  });
  return {
    load: createLoader(store, config.leaseSeconds, workerNumber),
    record: createRecorder(store, clock),
    schedule: retrySchedule(config.deliveryRetryDelaysSeconds),
    report: createReporter({ logger, metrics, store }),
  };
}

/** Builds a lane's handler of deliveries, with its own connections. */
function addLane(
  lifecycle: Lifecycle,
  parts: WorkerParts,
  lane: {
    readonly stages: Omit<DeliveryStages, 'attempt'>;
    readonly attemptsMax: number;
  },
): (job: DeliveryClaim) => Promise<void> {
  const { config, clock, logger, metrics } = parts;
  const client = new EndpointClient({
    httpClient: config.deliveryHttpClient,
    timeoutMs: config.deliveryTimeoutMs,
    guard: new AddressGuard({
      allowedNetworks: config.deliveryAllowedNetworks,
      deniedNetworks: config.deliveryDeniedNetworks,
    }),
    socketsPerHost: lane.attemptsMax,
    onTripwire: (address) => {
      metrics.tripwires.inc({ name: 'connected-to-refused-address' });
      logger.error('connected to a refused address', { address });
    },
  });
  lifecycle.add('endpoint client', { stop: async () => client.close() });
  const secrets = createOpenedSecrets(createSecretBox(config.secretsKey));
  const attemptParts = {
    client,
    secrets,
    clock,
    headerPrefix: config.signatureHeaderPrefix,
    standardWebhooks: config.standardWebhooksHeaders,
  };
  const stages: DeliveryStages = {
    ...lane.stages,
    attempt: (delivery) => makeAttempt(delivery, attemptParts),
  };
  return loggingFaults<DeliveryClaim>(
    parts,
    'delivery',
    (job) => deliver(job, stages),
    (job) => ({ delivery_id: job.deliveryId }),
  );
}

function addMailStages(lifecycle: Lifecycle, parts: WorkerParts, stopped: AbortSignal): MailStages {
  const { config, clock, logger, metrics } = parts;
  const provider = createMailProvider({
    provider: parts.mailProvider,
    connectionsMax: config.mailConcurrency,
    smtp: {
      url: config.smtpUrl,
      allowPlaintext: config.smtpAllowPlaintext,
      replyTimeoutMs: config.smtpReplyTimeoutMs,
      finalReplyTimeoutMs: config.smtpFinalReplyTimeoutMs,
    },
    sandboxDir: config.sandboxDir,
    awsRegion: config.awsRegion,
    sesConfigurationSet: config.sesConfigurationSet,
    timeoutMs: config.mailTimeoutMs,
  });
  lifecycle.add('mail provider', { stop: () => provider.close() });
  const unsubscribeUrlOf = createUnsubscribeUrls({
    publicUrl: config.publicUrl,
    tokens: createUnsubscribeTokens(config.secretsKey),
  });
  const leaseSeconds = Math.ceil(config.mailTimeoutMs / 1000) + MAIL_LEASE_MARGIN_SECONDS;
  const store = createMailWork(parts.database, clock, { verifiedDomainsOnly: parts.mailProvider === 'ses' });
  return {
    store: new MailBatches(store, { leaseSeconds, logger }),
    slots: new Semaphore(config.mailConcurrency, stopped),
    send: (email) => provider.send(outgoingMessage(email, unsubscribeUrlOf(email))),
    schedule: retrySchedule(config.mailRetryDelaysSeconds),
    leaseSeconds,
    logger,
    metrics,
  };
}

type Logged = Pick<WorkerParts, 'logger' | 'metrics'>;

/** Handles a fault of ours: one log line and a count. The row's lease brings the work back. */
function loggingFaults<Job>(
  parts: Logged,
  work: 'delivery' | 'mail',
  handle: (job: Job) => Promise<void>,
  nameOf: (job: Job) => Readonly<Record<string, string>>,
): (job: Job) => Promise<void> {
  return async (job) => {
    try {
      await handle(job);
    } catch (fault) {
      leftToLease(parts, work, nameOf(job), fault);
    }
  };
}

function leftToLease(
  { logger, metrics }: Logged,
  work: 'delivery' | 'mail',
  name: Readonly<Record<string, string>>,
  fault: unknown,
): void {
  const [stage, error] = fault instanceof StageFault ? [fault.stage, fault.cause] : ['other', fault];
  metrics.workLeftToLease.inc({ work, stage });
  logger.error('work left to its lease', { ...name, stage, error });
}
