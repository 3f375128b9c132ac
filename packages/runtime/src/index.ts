export { systemClock } from './clock.ts';
export type { ConfigurationOf } from './config/configuration.ts';
export { poolShares, SHARED_POOL_MIN } from './config/settings/connections.ts';
export { ConfigurationError, loadConfig, loadSharedConfig } from './config/load.ts';
export { parseServerUrl } from './config/schemas.ts';
export { ACCOUNT_SHARE, ATTEMPTS_PER_SLOT, announcedSlots } from './config/settings/delivery.ts';
export type { Environment, Role } from './config/setting.ts';
export {
  createMetricsHandler,
  createReadinessHandler,
  databaseReadiness,
  healthHandler,
  readinessOfAll,
  type ReadinessCheck,
} from './health/handlers.ts';
export { Lifecycle } from './lifecycle/lifecycle.ts';
export { type Part, type PartList, stoppingTogether } from './lifecycle/part-list.ts';
export {
  ignoringRepeats,
  nodeProcess,
  type ProcessControl,
  SAME_STOP_MS,
  type StopSignal,
} from './lifecycle/process-control.ts';
export { type LocalServers, localServers, RUNNING_FILE } from './local-servers.ts';
export { createLogger } from './logging/create-logger.ts';
export { messageOf } from './logging/error-words.ts';
export type { LogFields, Logger, LogLevel } from './logging/logger.ts';
export { maskSecrets } from './logging/redact.ts';
export { RELAY_PASSES, type RelayPass } from './metrics/catalogue.ts';
export { createMetrics, type Metrics } from './metrics/create-metrics.ts';
export { errorCode } from './metrics/error-code.ts';
export { parserStatusLine } from './parser-faults.ts';
export { type NoWork, periodicTask, type PeriodicTask } from './periodic-task.ts';
export { reportingPostgres } from './postgres-errors.ts';
export { keepToDatabase, reconnectOnError, watchRedis } from './redis-watch.ts';
export {
  logMailProvider,
  operationsServer,
  processShell,
  sharedShell,
  type Shell,
  warnWithoutPublicUrl,
} from './process-shell.ts';
