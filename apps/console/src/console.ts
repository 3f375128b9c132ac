import { openQueueIdentity, Producer, queueLocation } from '@postrider/queue';
import { databaseReadiness, systemClock } from '@postrider/runtime';
import type { ReadinessCheck, Shell } from '@postrider/runtime';
import { readiness } from '@postrider/store';
import type { Database, ReadDatabase } from '@postrider/store';
import { createConsole } from './app.ts';
import { ConsoleServer } from './server.ts';

/** The shutdown keeps this much of its deadline to close Postgres after the last request. */
const CLOSING_TIME_MS = 2_000;
/**
 * A second click on a form waits this long for the result of the first. A recovery may take 12 s: it waits
 * 2 s for a cancelled count, and counts for 10 s.
 */
const RESULT_WITHIN_MS = 14_000;

/** The databases stay open: their opener closes them after the console has stopped. */
export interface ConsoleConnections {
  /** Sign-in and the actions of users use it. */
  readonly actions: Database;
  /** The pages use it. */
  readonly reads: ReadDatabase;
}

/** Builds the console and adds it to the start list. @returns the check of `/readyz`. */
export function addConsole({
  config,
  lifecycle,
  logger,
  metrics,
  actions,
  reads,
}: Shell<'console'> & ConsoleConnections): ReadinessCheck {
  const location = queueLocation(config);
  const onError = (error: Error) => logger.debug('queue error', { error });
  const queue = new Producer(location, onError);
  const identity = openQueueIdentity(location, onError);
  const isReady = () => databaseReadiness(() => readiness(actions.pool));
  const app = createConsole({
    config,
    reads,
    actions,
    clock: systemClock,
    readiness: isReady,
    queue: {
      depth: () => queue.depth(),
      identity: () => identity.read(),
      evictionPolicy: () => queue.evictionPolicy(),
    },
    logger,
    metrics,
    resultWithinMs: RESULT_WITHIN_MS,
  });
  const server = new ConsoleServer(app);
  const closeQueue = async () => {
    identity.close();
    await queue.close();
  };
  lifecycle.add('queue', { stop: closeQueue }).add('HTTP server', {
    async start() {
      const port = await server.listen(config.consolePort, config.consoleHost);
      logger.info('listening', { host: config.consoleHost, port });
    },
    stop: (remainingMs) => server.stop(Math.max(0, remainingMs - CLOSING_TIME_MS)),
  });
  return isReady;
}
