import { setTimeout as delay } from 'node:timers/promises';
import {
  evictionFault,
  openQueueIdentity,
  Producer,
  queueLocation,
  queueSchemaIsCurrent,
  workersElsewhere,
} from '@postrider/queue';
import type { QueueDepth, QueueKey, QueueLocation } from '@postrider/queue';
import { messageOf } from '@postrider/runtime';
import type { ConfigurationOf, Logger } from '@postrider/runtime';
import {
  countDeadLetters,
  createFleet,
  lacksDays,
  lacksMigrations,
  lacksRights,
  MAIL_PROVIDER_DEFAULT,
  pendingMigrations,
  readBacklog,
  readFailingWebhooks,
  relayIsActive,
  rightsOf,
  storedMailProvider,
} from '@postrider/store';
import type {
  Backlog,
  DeadLetterCounts,
  FailingWebhook,
  MailProviderName,
  QueueIdentity,
  Rights,
  RunningWorker,
} from '@postrider/store';
import { withPool } from './session.ts';

/** The state of the system. A value that could not be read is null, and `faults` names the reason. */
export interface Status {
  readonly postgres: boolean;
  readonly backend: QueueLocation['kind'];
  /** Migrations that the database lacks, including the queue's tables if they are needed. */
  readonly pending: readonly string[] | null;
  readonly backlog: Backlog | null;
  readonly deadLetters: DeadLetterCounts | null;
  /** The webhooks that fail for the longest, at most ten. */
  readonly failing: readonly FailingWebhook[] | null;
  /** The provider of every process; null when migrations are missing. */
  readonly mailProvider: MailProviderName | null;
  /** The rights of this command's database role; null when migrations are missing. */
  readonly rights: Rights | null;
  readonly depths: Readonly<Record<QueueKey, QueueDepth>> | null;
  /** Everything that keeps the system from working, as sentences. */
  readonly faults: readonly string[];
}

interface StoreStatus extends Omit<Status, 'backend' | 'depths'> {
  readonly workers: readonly RunningWorker[];
  /** Faults of a system that does not run: no active relay, no worker. */
  readonly missing: readonly string[];
}
interface QueueStatus extends Pick<Status, 'depths' | 'faults'> {
  readonly identity: QueueIdentity | null;
}

/** The queue connects in the background and refuses calls until then. */
const CONNECT_WAIT_MS = 3_000;
const CONNECT_POLL_MS = 50;
const NO_DAYS =
  'no relay makes the days of the attempt log: its log line `pass failed` with days_made says why';
const NO_RELAY = 'no relay is active: nothing is claimed';
const NO_WORKER = 'no worker announces itself: nothing is delivered';
const FAILING_SHOWN = 10;
/** BullMQ's tables, as the name of a pending migration. */
const QUEUE_TABLES = 'queue tables';

/** @param stopped the system need not run: a relay and a worker may be missing. */
export async function readStatus(
  config: ConfigurationOf<'cli'>,
  logger: Logger,
  stopped: boolean,
): Promise<Status> {
  const location = queueLocation(config);
  const { workers, missing, ...store } = await readStore(config, location, logger);
  const queueIsThere =
    location.kind === 'redis' || (store.postgres && !(store.pending ?? []).includes(QUEUE_TABLES));
  const queue: QueueStatus = queueIsThere
    ? await readQueue(location, logger)
    : { depths: null, identity: null, faults: [] };
  const workersFault = queue.identity === null ? null : workersElsewhere(queue.identity, workers);
  const faults = [
    ...store.faults,
    ...(stopped ? [] : missing),
    ...queue.faults,
    ...(workersFault === null ? [] : [workersFault]),
  ];
  return { backend: location.kind, ...store, depths: queue.depths, faults };
}

async function readStore(
  config: ConfigurationOf<'cli'>,
  location: QueueLocation,
  logger: Logger,
): Promise<StoreStatus> {
  return withPool(config, logger, async (pool) => {
    try {
      const pending = await pendingMigrations(pool);
      const isCurrent = pending.length === 0;
      const workers = isCurrent ? await createFleet(pool).workers() : [];
      const missing = [
        ...(isCurrent && !(await relayIsActive(pool)) ? [NO_RELAY] : []),
        ...(isCurrent && workers.length === 0 ? [NO_WORKER] : []),
      ];
      const mailProvider = isCurrent ? ((await storedMailProvider(pool)) ?? MAIL_PROVIDER_DEFAULT) : null;
      if (location.kind === 'postgres' && !(await queueSchemaIsCurrent(location.databaseUrl))) {
        pending.push(QUEUE_TABLES);
      }
      const rights = isCurrent ? await rightsOf(pool) : null;
      const faults = [
        ...(pending.length === 0 ? [] : [messageOf(lacksMigrations(pending))]),
        // A role that only reads is meant for people, so what it lacks is no fault.
        ...(rights === null || rights.lacks.length === 0 || rights.readsOnly
          ? []
          : [messageOf(lacksRights(rights))]),
        ...(isCurrent && (await lacksDays(pool)) ? [NO_DAYS] : []),
      ];
      const backlog = isCurrent ? await countOrFault('the backlog', readBacklog(pool), faults) : null;
      const deadLetters = isCurrent
        ? await countOrFault('the dead letters', countDeadLetters(pool), faults)
        : null;
      const failing = isCurrent
        ? await countOrFault('the failing webhooks', readFailingWebhooks(pool, FAILING_SHOWN), faults)
        : null;
      const read = { backlog, deadLetters, failing, mailProvider, rights, workers };
      return { postgres: true, pending, ...read, missing, faults };
    } catch (error) {
      // Every error counts as "not reachable", also a wrong password.
      logger.debug('postgres error', { error });
      return {
        postgres: false,
        pending: null,
        backlog: null,
        deadLetters: null,
        failing: null,
        mailProvider: null,
        rights: null,
        workers: [],
        missing: [],
        faults: [messageOf(error)],
      };
    }
  });
}

/** Adds an error to `faults`. A count may fail alone: its tables are large, or the role lacks a right. */
async function countOrFault<T>(what: string, counting: Promise<T>, faults: string[]): Promise<T | null> {
  try {
    return await counting;
  } catch (error) {
    faults.push(`${what} cannot be counted: ${messageOf(error)}`);
    return null;
  }
}

async function readQueue(location: QueueLocation, logger: Logger): Promise<QueueStatus> {
  const onError = (error: Error) => logger.debug('queue error', { error });
  const producer = new Producer(location, onError);
  const identity = openQueueIdentity(location, onError);
  const giveUpAtMs = performance.now() + CONNECT_WAIT_MS;
  try {
    for (;;) {
      try {
        const depths = await producer.depth();
        const fault = evictionFault(await producer.evictionPolicy());
        return { depths, identity: await identity.read(), faults: fault === null ? [] : [fault] };
      } catch (error) {
        if (performance.now() > giveUpAtMs) {
          const { cause } = error as Error;
          return {
            depths: null,
            identity: null,
            faults: [`the queue is not available: ${messageOf(cause ?? error)}`],
          };
        }
        await delay(CONNECT_POLL_MS);
      }
    }
  } finally {
    identity.close();
    await producer.close();
  }
}
