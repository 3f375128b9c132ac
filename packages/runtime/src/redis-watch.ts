import type { Counter } from 'prom-client';
import { messageOf } from './logging/error-words.ts';
import type { Logger } from './logging/logger.ts';
import { periodicTask } from './periodic-task.ts';

export interface RedisWatchOptions {
  /** The value of the metric's label `client`. */
  readonly client: 'queue' | 'worker' | 'limiter';
  /** Resolves when Redis does this client's work. It must settle by itself. */
  readonly check: () => Promise<unknown>;
  readonly logger: Pick<Logger, 'debug' | 'info' | 'warn'>;
  readonly errors: Pick<Counter<'client'>, 'inc'>;
}

/** The client reports a lost connection at once. The checks are for a Redis that refuses writes, or hangs. */
const CHECK_EVERY_MS = 5_000;
const CHECK_AFTER_ERROR_MS = 1_000;
/**
 * Redis counts as failing for this long after an error. A client that cannot connect reports an error at
 * least every 2 s. Without errors, Redis counts as failing when the checks have failed for this long: before,
 * the client may still be connecting.
 */
const ERROR_COUNTS_FOR_MS = 5_000;
/** The client reports these errors while it has no connection. An earlier error says why it has none. */
const SAYS_NO_REASON = /^(?:Connection is closed|Stream isn't writeable|Reached the max retries)/;

/**
 * A server that cannot write answers like this on all its open connections: it is demoted, has lost its
 * replicas, or cannot save. After a failover behind one address, a new connection reaches the new primary.
 * The word may stand anywhere: older servers wrap a script's error in their own sentence.
 */
const CANNOT_WRITE = /\b(?:READONLY|LOADING|MASTERDOWN|NOREPLICAS|MISCONF)\b/;

/** An option of each Redis client. True: the client connects again after this error. */
export function reconnectOnError({ message }: Error): boolean {
  return CANNOT_WRITE.test(message);
}

/** The part of a Redis client that we use. */
interface RedisClient {
  on(event: 'error', listener: (error: Error & { command?: { name: string } }) => void): unknown;
  disconnect(reconnect: boolean): void;
}

/**
 * Redis may refuse the SELECT of a new connection: a script runs too long, or an ACL forbids SELECT. ioredis
 * would then use database 0. This client instead connects again, about ten times a second, until Redis
 * accepts the SELECT.
 */
export function keepToDatabase(redis: RedisClient): void {
  redis.on('error', ({ command }) => {
    if (command?.name === 'select') redis.disconnect(true);
  });
}

/**
 * Logs one line when Redis refuses this client or is away, with the server's own words, and one line when it
 * works again. Counts each error of the client. After 5 s it also counts each failed check, unless the client
 * reports errors.
 */
export function watchRedis({ client, check, logger, errors }: RedisWatchOptions) {
  errors.inc({ client }, 0); // the alert needs a 0 before the first error
  let failing = false;
  let last: { readonly error: Error; readonly atMs: number } | null = null;
  let checksFailSinceMs: number | null = null;

  const recentError = (): Error | null =>
    last !== null && performance.now() - last.atMs < ERROR_COUNTS_FOR_MS ? last.error : null;

  const task = periodicTask({
    async run() {
      const refusal = await check().then(
        () => null,
        (error: unknown) => error as Error,
      );
      checksFailSinceMs = refusal === null ? null : (checksFailSinceMs ?? performance.now());
      const error = recentError();
      if (error !== null) throw error;
      if (refusal === null || checksFailSinceMs === null) return CHECK_EVERY_MS;
      if (performance.now() - checksFailSinceMs < ERROR_COUNTS_FOR_MS)
        return { noWorkForMs: CHECK_AFTER_ERROR_MS };
      errors.inc({ client }); // the client does not report that Redis refused a command, so we count it here
      throw refusal;
    },
    pauseMs: CHECK_AFTER_ERROR_MS,
    onError(error, again) {
      failing = true;
      if (!again) logger.warn('redis error', { client, reason: messageOf(error) });
    },
    onRecovery() {
      failing = false;
      logger.info('redis works again', { client });
    },
  });

  return {
    /** Receives each error of the client. */
    onError: (error: Error): void => {
      errors.inc({ client });
      logger.debug('redis client error', { client, error });
      if (SAYS_NO_REASON.test(error.message)) return;
      last = { error, atMs: performance.now() };
      task.wake();
    },
    isFailing: (): boolean => failing,
    async start(): Promise<void> {
      task.start();
    },
    /** Does not wait for the current check: a silent Redis delays no exit. */
    async stop(): Promise<void> {
      void task.stop();
    },
  };
}
