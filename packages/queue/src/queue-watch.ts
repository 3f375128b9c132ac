import { databaseReadiness, reportingPostgres, watchRedis } from '@postrider/runtime';
import type { Logger, Metrics, ReadinessCheck } from '@postrider/runtime';
import { readiness } from '@postrider/store';
import type { createPool, QueueIdentity } from '@postrider/store';
import type { QueueLocation } from './connection.ts';
import { openQueueIdentity } from './queue-identity.ts';

export interface QueueWatchOptions {
  /** The value of the label `client` of the metric, and of the field `client` of the log lines. */
  readonly client: 'queue' | 'worker';
  readonly logger: Pick<Logger, 'debug' | 'info' | 'warn'>;
  readonly metrics: Pick<Metrics<'relay'>, 'postgresErrors' | 'redisErrors'>;
}

/** The queue as one process sees it: which one it is, and whether it works. */
export interface QueueWatch {
  readonly location: QueueLocation;
  /** The identity from the last read. */
  readonly identity: () => QueueIdentity;
  /** Receives the errors of the queue's clients. */
  readonly onError: (error: Error) => void;
  /** False: Redis is away, or refuses this process. A queue in Postgres works while Postgres does. */
  readonly works: () => boolean;
  /** `ok`, or the fault in public words. @param postgres the state of Postgres. */
  readonly state: (postgres: string) => string;
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

export function openQueueWatch(location: QueueLocation, options: QueueWatchOptions): QueueWatch {
  const { client, logger, metrics } = options;
  if (location.kind === 'postgres') {
    return {
      location,
      identity: openQueueIdentity(location, () => undefined).last,
      onError: reportingPostgres(logger, metrics, { client }),
      works: () => true,
      state: (postgres) => postgres,
      start: async () => undefined,
      stop: async () => undefined,
    };
  }
  const identity = openQueueIdentity(location, (error) => watch.onError(error));
  const watch = watchRedis({ client, check: () => identity.read(), logger, errors: metrics.redisErrors });
  return {
    location,
    identity: identity.last,
    onError: watch.onError,
    works: () => !watch.isFailing(),
    state: () => (watch.isFailing() ? 'Redis is not available: nothing is delivered' : 'ok'),
    start: () => watch.start(),
    async stop() {
      await watch.stop();
      identity.close();
    },
  };
}

/** A process that needs Postgres is ready when Postgres is. It also names the state of its queue. */
export function readinessWithQueue(
  pool: ReturnType<typeof createPool>,
  queueWatch: Pick<QueueWatch, 'state'>,
): ReadinessCheck {
  return async () => {
    const state = await databaseReadiness(() => readiness(pool));
    return { ...state, parts: { ...state.parts, queue: queueWatch.state(state.parts.postgres) } };
  };
}
