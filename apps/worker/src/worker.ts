import { randomInt } from 'node:crypto';
import type { EmailId } from '@postrider/domain';
import type { MailProviderOptions } from '@postrider/mail';
import { Consumer, LANES, readinessWithQueue } from '@postrider/queue';
import type { MailJob, QueueWatch } from '@postrider/queue';
import { announcedSlots, logMailProvider, warnWithoutPublicUrl } from '@postrider/runtime';
import type { ReadinessCheck, Shell } from '@postrider/runtime';
import { agreeOnMailProvider, createFleet, lockWorkerNumber } from '@postrider/store';
import type { createPool, Database } from '@postrider/store';
import { createAnnouncements } from './announcements.ts';
import { deliver } from './delivery/deliver.ts';
import { addDeliveryStages, laneAttempts } from './delivery/stages.ts';
import { quarantineFaulty } from './mail/quarantine.ts';
import { sendMail } from './mail/send.ts';
import { addMailStages } from './mail/stages.ts';
import { leaveToLease } from './stage-fault.ts';

/** The worker does not close the queue and the pools. The process that opened them closes them later. */
export interface WorkerParts extends Shell<'worker'> {
  readonly queueWatch: QueueWatch;
  readonly database: Database;
  /** The pool for leases: commits need not be durable. */
  readonly leases: ReturnType<typeof createPool>;
}

/**
 * The time of a stop that running jobs do not get. In it the consumers close, in up to 1.5 s, and then the
 * other parts of the worker stop.
 */
const STOP_RESERVE_MS = 2_000;
/** Messages per provider slot. While one message's outcome is recorded, the next one uses the slot. */
const MAIL_JOBS_PER_SLOT = 2;
const WORKER_NUMBER_MAX = 2 ** 31 - 1;

/** Builds the worker and adds its parts to `lifecycle`. @returns a check of whether it can work now */
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
      if (agreed.name === 'ses') warnOfMissingSettings(parts);
      // The provider is known only now. Parts that are added during the start are started after the others.
      await addConsumers(parts, agreed.name);
    },
  });
  return readinessWithQueue(database.pool, queueWatch);
}

/** Mail is sent even if these settings are missing, but it has no link to unsubscribe, or no reports. */
function warnOfMissingSettings(parts: WorkerParts): void {
  const { config, logger } = parts;
  warnWithoutPublicUrl(parts, 'mail about a topic carries no link to unsubscribe (List-Unsubscribe)');
  if (config.sesConfigurationSet === undefined) {
    logger.warn(
      'SES_CONFIGURATION_SET is not set: no bounce, complaint or delivery is reported, unless each domain has its own set at SES',
    );
  }
}

/** Adds the three consumers, and what they need. @param mailProvider that the installation uses */
async function addConsumers(
  parts: WorkerParts,
  mailProvider: MailProviderOptions['provider'],
): Promise<void> {
  const { config, lifecycle, queueWatch } = parts;
  const workerNumber = addWorkerNumber(parts);
  const stopping = new AbortController();
  const stopped = stopping.signal;
  const deliveryStages = addDeliveryStages({ ...parts, workerNumber, stopped });
  const mailStages = await addMailStages({ ...parts, mailProvider, stopped });
  const announcements = createAnnouncements({
    fleet: createFleet(parts.leases),
    workerNumber,
    slots: announcedSlots(config),
    queue: queueWatch.identity,
    logger: parts.logger,
  });
  const send = quarantineFaulty<MailJob>((job) =>
    sendMail({ ...job, emailId: job.emailId as EmailId }, mailStages),
  );
  const shared = { mayFetch: announcements.isAnnounced, onError: queueWatch.onError };

  const lanes = LANES.map(
    (lane) =>
      new Consumer(queueWatch.location, lane, {
        ...shared,
        concurrency: laneAttempts(config)[lane],
        handle: (job) =>
          deliver(job, deliveryStages).catch((fault: unknown) =>
            leaveToLease(parts, 'delivery', { delivery_id: job.deliveryId }, fault),
          ),
        lockSeconds: config.leaseSeconds,
      }),
  );
  const mail = new Consumer(queueWatch.location, 'mail', {
    ...shared,
    concurrency: MAIL_JOBS_PER_SLOT * config.mailConcurrency,
    handle: (job) =>
      send(job).catch((fault: unknown) => leaveToLease(parts, 'mail', { email_id: job.emailId }, fault)),
    lockSeconds: mailStages.leaseSeconds,
  });
  const consumers = [...lanes, mail];
  // One part, so all three stop taking jobs at the same moment. Mail that waits for a slot loses its lease.
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
