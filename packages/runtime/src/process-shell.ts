import type { ConfigurationOf } from './config/configuration.ts';
import { ConfigurationError, loadConfig, loadSharedConfig, maskedConfig } from './config/load.ts';
import { inDevelopment } from './config/rules.ts';
import type { Role } from './config/setting.ts';
import { OperationsServer } from './health/operations-server.ts';
import type { ReadinessCheck } from './health/handlers.ts';
import { Lifecycle } from './lifecycle/lifecycle.ts';
import { PartList } from './lifecycle/part-list.ts';
import { createLogger } from './logging/create-logger.ts';
import type { LogFields, Logger } from './logging/logger.ts';
import { createMetrics, createSharedMetrics, type Metrics } from './metrics/create-metrics.ts';
import { reportingPostgres } from './postgres-errors.ts';

/** A process gives such a shell to each of its roles. */
export interface Shell<R extends Role> {
  readonly config: ConfigurationOf<R>;
  readonly logger: Logger;
  /** The role's instruments. All roles of a process share one registry. */
  readonly metrics: Metrics<R>;
  /** The role adds its parts to this start list. They start after the connections that the role gets. */
  readonly lifecycle: PartList;
  /** Counts and logs an error of a connection to Postgres. */
  readonly onPostgresError: (error: Error) => void;
}

/**
 * Begins a process with one role: reads the configuration, creates the log and the metrics, and logs the
 * configuration without its secrets. A bad value ends the process instead, with exit code 1 and one line on
 * stderr that names every bad variable.
 *
 * A `main.ts` then adds its parts to `lifecycle` and awaits `lifecycle.run()`. `Lifecycle` documents the
 * order of start and stop, the signals, the deadline and the exit codes.
 * @param alsoLogged adds fields to the log line of the configuration.
 */
export function processShell<const R extends Role>(
  role: R,
  alsoLogged: (config: ConfigurationOf<R>) => LogFields = () => ({}),
): Shell<R> & { readonly lifecycle: Lifecycle } {
  const config = orExit(() => loadConfig(role));
  const { logLevel, shutdownDeadlineMs } = config as unknown as ConfigurationOf<Role>;
  const logger = createLogger({ level: logLevel, service: role });
  const metrics = createMetrics(role);
  logger.info('configuration', { ...maskedConfig(role, config), ...alsoLogged(config) });
  return {
    config,
    logger,
    metrics,
    lifecycle: new Lifecycle({ logger, deadlineMs: shutdownDeadlineMs }),
    onPostgresError: reportingPostgres(logger, metrics as unknown as Metrics<Role>),
  };
}

/**
 * Begins a process with the roles that `ROLES` names, as `processShell` does for one. Each line of the log
 * has its role as `service`. The lines of the process itself have `all`.
 */
export function sharedShell(alsoLogged: (config: ConfigurationOf<'all'>) => LogFields) {
  const { own: config, roles, of } = orExit(() => loadSharedConfig());
  const loggerOf = (service: Role | 'all') => createLogger({ level: config.logLevel, service });
  const logger = loggerOf('all');
  const metrics = createSharedMetrics(roles);
  const masked = roles.map((role) => maskedConfig(role, of(role)));
  logger.info(
    'configuration',
    Object.assign(
      {},
      ...masked,
      maskedConfig('all', config),
      { ROLES: roles },
      alsoLogged(config),
    ) as LogFields,
  );
  return {
    config,
    roles,
    logger,
    metrics,
    lifecycle: new Lifecycle({ logger, deadlineMs: config.shutdownDeadlineMs }),
    onPostgresError: reportingPostgres(logger, metrics),
    /** @throws Error for a role that `ROLES` does not name. */
    shellOf<const R extends Role>(role: R): Shell<R> {
      const own = loggerOf(role);
      return {
        config: of(role),
        logger: own,
        metrics: metrics as unknown as Metrics<R>,
        lifecycle: new PartList(own),
        onPostgresError: reportingPostgres(own, metrics),
      };
    },
  };
}

/** Logs the mail provider. Warns when it is the sandbox, unless NODE_ENV is development or test. */
export function logMailProvider(
  { config, logger }: { readonly config: Pick<ConfigurationOf<'api'>, 'nodeEnv'>; readonly logger: Logger },
  { name, origin }: { readonly name: string; readonly origin: string },
): void {
  logger.info('mail provider', { provider: name, origin });
  if (name === 'sandbox' && !inDevelopment(config)) {
    logger.warn(
      'the mail provider is the sandbox: mail goes to a folder, and none is sent. Set MAIL_PROVIDER',
    );
  }
}

/**
 * Warns when PUBLIC_URL is not set, unless NODE_ENV is development or test.
 * @param effect names the links that are wrong or missing
 */
export function warnWithoutPublicUrl(
  {
    config,
    logger,
  }: {
    readonly config: Pick<ConfigurationOf<'api'>, 'nodeEnv' | 'publicUrl'>;
    readonly logger: Pick<Logger, 'warn'>;
  },
  effect: string,
): void {
  if (config.publicUrl === undefined && !inDevelopment(config))
    logger.warn(`PUBLIC_URL is not set: ${effect}`);
}

/** Health and metrics, for a process without an HTTP server of its own. */
export function operationsServer(
  {
    config,
    metrics,
    logger,
  }: {
    readonly config: Pick<ConfigurationOf<'all'>, 'metricsHost' | 'metricsPort'>;
    readonly metrics: Pick<Metrics, 'registry'>;
    readonly logger: Logger;
  },
  readiness: ReadinessCheck,
): OperationsServer {
  return new OperationsServer({
    host: config.metricsHost,
    port: config.metricsPort,
    registry: metrics.registry,
    readiness,
    logger,
  });
}

function orExit<T>(load: () => T): T {
  try {
    return load();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}
