import { randomInt } from 'node:crypto';
import { createSecretBox, retrySchedule } from '@postrider/domain';
import type { EmailId } from '@postrider/domain';
import type { MailProviderOptions } from '@postrider/mail';
import { AddressGuard, EndpointClient } from '@postrider/outbound';
import { Consumer } from '@postrider/queue';
import type { Lane, MailJob, QueueWatch } from '@postrider/queue';
import {
  ATTEMPTS_PER_SLOT,
  databaseReadiness,
  logMailProvider,
  announcedSlots,
  systemClock,
} from '@postrider/runtime';
import type { ReadinessCheck, Shell } from '@postrider/runtime';
import {
  agreeOnMailProvider,
  createDeliveryWork,
  createFleet,
  lockWorkerNumber,
  readiness,
} from '@postrider/store';
import type { createPool, Database } from '@postrider/store';
import { createAnnouncements } from './announcements.ts';
import { makeAttempt } from './delivery/attempt.ts';
import { deliver } from './delivery/deliver.ts';
import type { DeliveryStages } from './delivery/deliver.ts';
import { createLoader } from './delivery/load.ts';
import { createRecorder } from './delivery/record.ts';
import { createReporter } from './delivery/report.ts';
import { quarantineFaulty } from './mail/quarantine.ts';
import { sendMail } from './mail/send.ts';
import { addMailStages } from './mail/stages.ts';
import { StageFault } from './stage-fault.ts';

/** The connections stay open: their opener closes them after the worker has stopped. */
export interface WorkerParts extends Shell<'worker'> {
  readonly queueWatch: QueueWatch;
  readonly database: Database;
  /** The pool for leases: commits need not be durable. */
  readonly leases: ReturnType<typeof createPool>;
}

/** Part of the stop's time that stays for closing connections. */
const STOP_RESERVE_MS = 2_000;
/** Messages per provider slot. While one message's outcome is recorded, the next one uses the slot. */
const MAIL_JOBS_PER_SLOT = 2;
const WORKER_NUMBER_MAX = 2 ** 31 - 1;

/** Builds the worker and adds it to its start list. @returns whether it can work now. */
export function addWorker(parts: WorkerParts): ReadinessCheck {
  const { config, lifecycle, database, queueWatch, logger } = parts;
  if (config.deliveryAllowedNetworks.length > 0) {
    logger.warn('DEVELOPMENT ONLY: these networks are excused from the address guard', {
      networks: config.deliveryAllowedNetworks,
    });
  }
  lifecycle.add('the mail provider', {
    async start() {
      const agreed = await agreeOnMailProvider(database, config.mailProvider);
      logMailProvider(parts, agreed);
      if (agreed.name === 'ses' && config.publicUrl === undefined) {
        logger.warn(
          'PUBLIC_URL is not set: mail about a topic carries no link to unsubscribe (List-Unsubscribe)',
        );
      }
      // The provider is known only now. Parts that are added during the start are started after the others.
      await addConsumers(parts, agreed.name);
    },
  });
  return async () => {
    const state = await databaseReadiness(() => readiness(database.pool));
    return { ...state, parts: { ...state.parts, queue: queueWatch.state(state.parts.postgres) } };
  };
}

/** Adds the three consumers, and what they need. @param mailProvider the one of the installation. */
async function addConsumers(
  parts: WorkerParts,
  mailProvider: MailProviderOptions['provider'],
): Promise<void> {
  const { config, lifecycle, queueWatch } = parts;
  const workerNumber = addWorkerNumber(parts);
  const stopping = new AbortController();
  const stages = createDeliveryStages(parts, workerNumber, stopping.signal);
  const mailStages = await addMailStages({ ...parts, mailProvider, stopped: stopping.signal });
  const announcements = createAnnouncements({
    fleet: createFleet(parts.leases),
    workerNumber,
    slots: announcedSlots(config),
    queue: queueWatch.identity,
    logger: parts.logger,
  });
  const mayFetch = announcements.isAnnounced;
  const send = quarantineFaulty<MailJob>((job) =>
    sendMail({ ...job, emailId: job.emailId as EmailId }, mailStages),
  );

  const consumers = [
    createLaneConsumer(parts, 'fast', ATTEMPTS_PER_SLOT * config.deliveryConcurrency, stages, mayFetch),
    createLaneConsumer(parts, 'slow', config.slowLaneConcurrency, stages, mayFetch),
    new Consumer(queueWatch.location, 'mail', {
      concurrency: MAIL_JOBS_PER_SLOT * config.mailConcurrency,
      handle: (job) =>
        send(job).catch((fault: unknown) => leaveToLease(parts, 'mail', { email_id: job.emailId }, fault)),
      mayFetch,
      lockSeconds: mailStages.leaseSeconds,
      onError: queueWatch.onError,
    }),
  ];
  // One part, so all three stop taking jobs at the same moment. Mail that waits for a slot is released.
  lifecycle.add('consumers', {
    start: async () => consumers.forEach((consumer) => consumer.start()),
    async stop(remainingMs) {
      stopping.abort();
      await Promise.all(consumers.map((consumer) => consumer.stop(remainingMs - STOP_RESERVE_MS)));
    },
  });
  lifecycle.add('announcements', announcements);
}

/** The number that this worker writes into the rows that it takes. Its lock says that the worker lives. */
function addWorkerNumber({ config, lifecycle, onPostgresError }: WorkerParts): number {
  const workerNumber = randomInt(1, WORKER_NUMBER_MAX);
  const lock = lockWorkerNumber(workerNumber, {
    databaseUrl: config.databaseUrl,
    applicationName: 'postrider-worker',
    onError: onPostgresError,
  });
  // The lock is held until the last attempt has ended.
  lifecycle.add('number lock', { start: async () => lock.start(), stop: () => lock.stop() });
  return workerNumber;
}

/** The stages that both lanes share. */
function createDeliveryStages(
  parts: WorkerParts,
  workerNumber: number,
  stopped: AbortSignal,
): Omit<DeliveryStages, 'attempt'> {
  const { config, logger, metrics } = parts;
  const store = createDeliveryWork(parts.leases, parts.database.pool, {
    onOrphan({ deliveryId, claim, eventId, webhookId }) {
      metrics.orphanedDeliveries.inc();
      const ids = { delivery_id: deliveryId, claim, event_id: eventId, webhook_id: webhookId };
      logger.error('delivery ended: its event is gone', ids);
    },
    onOrphanLeft({ deliveryId, eventId, webhookId }, error) {
      const ids = { delivery_id: deliveryId, event_id: eventId, webhook_id: webhookId };
      leaveToLease(parts, 'delivery', ids, new StageFault('load', error));
    },
  });
  return {
    load: createLoader(store, config.leaseSeconds, workerNumber, stopped),
    record: createRecorder(store, systemClock),
    schedule: retrySchedule(config.deliveryRetryDelaysSeconds),
    report: createReporter({ logger, metrics, store }),
  };
}

/**
 * Builds a lane's consumer. Each lane has its own connections, so hanging endpoints block none of the fast
 * lane. One host may have as many connections as the lane makes attempts at once. Otherwise webhooks that
 * share a host would wait for each other, and time out.
 */
function createLaneConsumer(
  parts: WorkerParts,
  lane: Lane,
  attemptsMax: number,
  sharedStages: Omit<DeliveryStages, 'attempt'>,
  mayFetch: () => boolean,
): Consumer<Lane> {
  const { config, lifecycle, logger, metrics, queueWatch } = parts;
  const client = new EndpointClient({
    httpClient: config.deliveryHttpClient,
    timeoutMs: config.deliveryTimeoutMs,
    guard: new AddressGuard({
      allowedNetworks: config.deliveryAllowedNetworks,
      deniedNetworks: config.deliveryDeniedNetworks,
    }),
    socketsPerHost: attemptsMax,
    onTripwire: (address) => {
      metrics.tripwires.inc({ name: 'connected-to-refused-address' });
      logger.error('connected to a refused address', { address });
    },
  });
  lifecycle.add(`${lane} endpoint client`, { stop: async () => client.close() });
  const attemptParts = {
    client,
    secrets: createSecretBox(config.secretsKey),
    clock: systemClock,
    headerPrefix: config.signatureHeaderPrefix,
    standardWebhooks: config.standardWebhooksHeaders,
  };
  const stages: DeliveryStages = {
    ...sharedStages,
    attempt: (delivery) => makeAttempt(delivery, attemptParts),
  };
  return new Consumer(queueWatch.location, lane, {
    concurrency: attemptsMax,
    handle: (job) =>
      deliver(job, stages).catch((fault: unknown) =>
        leaveToLease(parts, 'delivery', { delivery_id: job.deliveryId }, fault),
      ),
    mayFetch,
    lockSeconds: config.leaseSeconds,
    onError: queueWatch.onError,
  });
}

/** Handles a fault of ours: one log line and a count. The row's lease brings the work back. */
function leaveToLease(
  { logger, metrics }: WorkerParts,
  work: 'delivery' | 'mail',
  ids: Readonly<Record<string, string>>,
  fault: unknown,
): void {
  const ended = fault instanceof StageFault ? fault : { stage: 'other', cause: fault, ids: {} };
  const { stage, cause: error, ids: more } = ended;
  metrics.workLeftToLease.inc({ work, stage });
  logger.error('work left to its lease', { ...ids, ...more, stage, error });
}
