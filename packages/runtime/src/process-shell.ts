import type { ConfigurationOf } from './config/configuration.ts';
import { ConfigurationError, loadConfig, maskedConfig } from './config/load.ts';
import { inDevelopment } from './config/rules.ts';
import type { ProcessName } from './config/setting.ts';
import { OperationsServer } from './health/operations-server.ts';
import type { ReadinessCheck } from './health/handlers.ts';
import { Lifecycle } from './lifecycle/lifecycle.ts';
import { createLogger } from './logging/create-logger.ts';
import type { LogFields, Logger } from './logging/logger.ts';
import { createMetrics, type Metrics } from './metrics/create-metrics.ts';
import { errorCode } from './metrics/error-code.ts';

/** The processes that run until a signal stops them. */
type ServiceName = Exclude<ProcessName, 'cli'>;

/**
 * Begins a process: reads the configuration, creates the log and the metrics, and logs the configuration
 * without its secrets. A bad value ends the process instead, with exit code 1 and one line on stderr that
 * names every bad variable.
 *
 * A `main.ts` then adds its parts to `lifecycle` and awaits `lifecycle.run()`. `Lifecycle` documents the
 * order of start and stop, the signals, the deadline and the exit codes.
 * @param alsoLogged adds fields to the log line of the configuration.
 */
export function processShell<const P extends ServiceName>(
  name: P,
  alsoLogged: (config: ConfigurationOf<P>) => LogFields = () => ({}),
) {
  const config = loadConfigOrExit(name);
  const { logLevel, shutdownDeadlineMs } = config as unknown as ConfigurationOf<ServiceName>;
  const logger = createLogger({ level: logLevel, service: name });
  const metrics = createMetrics(name);
  const { postgresErrors } = metrics as unknown as Metrics<ServiceName>;
  logger.info('configuration', { ...maskedConfig(name, config), ...alsoLogged(config) });
  return {
    config,
    logger,
    metrics,
    lifecycle: new Lifecycle({ logger, deadlineMs: shutdownDeadlineMs }),
    /** Counts and logs an error of a connection to Postgres. */
    onPostgresError: (error: Error): void => {
      postgresErrors.inc({ code: errorCode(error) });
      logger.warn('postgres error', { error });
    },
  };
}

/** Logs the mail provider. Warns when production may believe that its mail is sent. */
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

type ProcessShell<P extends ServiceName> = ReturnType<typeof processShell<P>>;

/** Health and metrics, for a process without an HTTP server of its own. */
export function operationsServer(
  { config, metrics, logger }: ProcessShell<'relay'> | ProcessShell<'worker'> | ProcessShell<'inbound'>,
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

function loadConfigOrExit<const P extends ServiceName>(name: P): ConfigurationOf<P> {
  try {
    return loadConfig(name);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}
