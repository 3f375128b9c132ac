import { freeText, hostName, oneOf, port, wholeNumber } from '../schemas.ts';
import { defineOptionalSetting, defineSetting } from '../setting.ts';

/** Running it: logs, health and metrics, stopping, what is kept for how long. */
export const operationSettings = {
  nodeEnv: defineOptionalSetting({
    key: 'NODE_ENV',
    description: '`production` refuses the settings that are for development only.',
    schema: freeText,
    processes: ['api', 'relay', 'worker'],
  }),
  logLevel: defineSetting({
    key: 'LOG_LEVEL',
    description: '`error`, `warn`, `info`, `debug` or `silent`.',
    schema: oneOf('error', 'warn', 'info', 'debug', 'silent'),
    default: 'info',
    processes: ['api', 'relay', 'worker', 'cli'],
  }),
  metricsHost: defineSetting({
    key: 'METRICS_HOST',
    description: 'Address that serves `/healthz`, `/readyz` and `/metrics`.',
    schema: hostName,
    default: '127.0.0.1',
    processes: ['relay', 'worker'],
  }),
  metricsPort: defineSetting({
    key: 'METRICS_PORT',
    description: 'Its port. 0 means any free port; the log line at start names it.',
    schema: port,
    default: { relay: '9101', worker: '9102' },
    processes: ['relay', 'worker'],
  }),
  shutdownDeadlineMs: defineSetting({
    key: 'SHUTDOWN_DEADLINE_MS',
    description:
      'Time between SIGTERM and the exit, at most. Work in hand that takes longer is left to its lease.',
    unit: 'ms',
    schema: wholeNumber(1, 600_000),
    default: '25000',
    processes: ['api', 'relay', 'worker'],
  }),
  eventRetentionDays: defineSetting({
    key: 'EVENT_RETENTION_DAYS',
    description:
      'Events without outstanding work are deleted after this. A dead letter keeps a copy of its event, for a replay.',
    unit: 'days',
    schema: wholeNumber(1, 3650),
    default: '30',
    processes: ['relay'],
  }),
  attemptRetentionDays: defineSetting({
    key: 'ATTEMPT_RETENTION_DAYS',
    description: 'The attempt log is dropped, by whole days, after this.',
    unit: 'days',
    schema: wholeNumber(1, 3650),
    default: '14',
    processes: ['relay'],
  }),
};
