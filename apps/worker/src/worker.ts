import { createSecretBox, retrySchedule } from '@postrider/domain';
import type { Clock } from '@postrider/domain';
import { createMailProvider } from '@postrider/mail';
import { createAddressGuard, createEndpointClient } from '@postrider/outbound';
import { createConsumer } from '@postrider/queue';
import type { QueueLocation } from '@postrider/queue';
import type { Lifecycle, Logger, Metrics } from '@postrider/runtime';
import { createDeliveryWork, createMailWork } from '@postrider/store';
import type { createPool, Database } from '@postrider/store';
import type { WorkerConfig } from './config.ts';
import { makeAttempt } from './delivery/attempt.ts';
import { deliver } from './delivery/deliver.ts';
import type { DeliveryStages } from './delivery/deliver.ts';
import { createLoader } from './delivery/load.ts';
import { createRecorder } from './delivery/record.ts';
import { createReporter } from './delivery/report.ts';
import { sendMail } from './mail/send.ts';
import type { MailStages } from './mail/send.ts';
import { createParking } from './parking.ts';

export interface WorkerParts {
  readonly config: WorkerConfig;
  readonly location: QueueLocation;
  readonly database: Database;
  /** Commits need not be durable: leases only. */
  readonly leases: ReturnType<typeof createPool>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics<'worker'>;
  readonly onQueueError: (error: Error) => void;
}

/** Attempts that take longer than this give their slot of the fast lane to others, if there is a place to wait. */
const PARK_AFTER_MS = 1_000;
/** Left of the stop's time for what comes after the attempts: closing connections. */
const STOP_RESERVE_MS = 2_000;
/** Recording a hand-over of mail, after the provider's own time limit. */
const MAIL_LEASE_MARGIN_SECONDS = 15;

/** Builds the worker's three consumers and adds them to the start list. */
export function addWorker(lifecycle: Lifecycle, parts: WorkerParts): void {
  const { config, location, onQueueError } = parts;
  const deliveryStages = addDeliveryStages(lifecycle, parts);
  const mailStages = addMailStages(lifecycle, parts);
  const parking = createParking({ afterMs: PARK_AFTER_MS, placesMax: config.deliveryConcurrency });
  lifecycle.add('parked attempts', { stop: (remainingMs) => parking.drain(remainingMs - STOP_RESERVE_MS) });

  const attempt = oursLogged(parts, (job: Parameters<typeof deliver>[0]) => deliver(job, deliveryStages));
  const consumers = {
    fast: createConsumer(location, 'fast', {
      concurrency: config.deliveryConcurrency,
      handle: (job) => parking.slotFor(attempt(job)),
      onError: onQueueError,
    }),
    slow: createConsumer(location, 'slow', {
      concurrency: config.slowLaneConcurrency,
      handle: attempt,
      onError: onQueueError,
    }),
    mail: createConsumer(location, 'mail', {
      concurrency: config.mailConcurrency,
      handle: oursLogged(parts, (job) => sendMail(job as Parameters<typeof sendMail>[0], mailStages)),
      onError: onQueueError,
    }),
  };
  // One part: all three stop taking jobs at the same moment.
  lifecycle.add('consumers', {
    start: async () => Object.values(consumers).forEach((consumer) => consumer.start()),
    stop: (remainingMs) =>
      Promise.all(Object.values(consumers).map((consumer) => consumer.stop(remainingMs - STOP_RESERVE_MS))),
  });
}

function addDeliveryStages(lifecycle: Lifecycle, parts: WorkerParts): DeliveryStages {
  const { config, clock, logger, metrics } = parts;
  const store = createDeliveryWork(parts.leases, parts.database.pool);
  const client = createEndpointClient({
    timeoutMs: config.deliveryTimeoutMs,
    guard: createAddressGuard({ allowedNetworks: config.deliveryAllowedNetworks }),
    socketsPerHost: config.deliveryConcurrency,
    onTripwire: (address) => {
      metrics.tripwires.inc({ name: 'connected-to-refused-address' });
      logger.error('connected to a refused address', { address });
    },
  });
  lifecycle.add('endpoint client', { stop: async () => client.close() });
  const secrets = createSecretBox(config.secretsKey);
  return {
    load: createLoader(store, config.leaseSeconds),
    attempt: (delivery) =>
      makeAttempt(delivery, { client, secrets, clock, headerPrefix: config.signatureHeaderPrefix }),
    record: createRecorder(store, clock),
    schedule: retrySchedule(config.deliveryRetryDelaysSeconds),
    report: createReporter({ logger, metrics, store }),
  };
}

function addMailStages(lifecycle: Lifecycle, parts: WorkerParts): MailStages {
  const { config, clock, logger, metrics } = parts;
  // The configuration refuses it as well; here it is the compiler that has to be told.
  if (config.mailProvider === 'ses') throw new Error('MAIL_PROVIDER=ses is not in this version yet');
  const provider = createMailProvider({
    provider: config.mailProvider,
    connectionsMax: config.mailConcurrency,
    smtpUrl: config.smtpUrl,
    sandboxDir: config.sandboxDir,
    timeoutMs: config.mailTimeoutMs,
  });
  lifecycle.add('mail provider', { stop: () => provider.close() });
  return {
    store: createMailWork(parts.database, clock),
    handOver: (email) =>
      provider.send({
        ...email.draft,
        emailId: email.emailId,
        accountId: email.accountId,
        createdAt: email.createdAt,
      }),
    schedule: retrySchedule(config.mailRetryDelaysSeconds),
    leaseSeconds: Math.ceil(config.mailTimeoutMs / 1000) + MAIL_LEASE_MARGIN_SECONDS,
    logger,
    metrics,
  };
}

/** A fault of ours ends here, with one line: the row's lease brings the work back. */
function oursLogged<Job extends object>(
  parts: Pick<WorkerParts, 'logger'>,
  handle: (job: Job) => Promise<void>,
): (job: Job) => Promise<void> {
  return async (job) => {
    try {
      await handle(job);
    } catch (error) {
      parts.logger.error('work left to its lease', { ...job, error });
    }
  };
}
