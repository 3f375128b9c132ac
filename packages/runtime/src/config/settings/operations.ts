import { freeText, hostName, oneOf, port, roles, wholeNumber } from '../schemas.ts';
import { defineOptionalSetting, defineSetting } from '../setting.ts';

/** Operations: logs, health and metrics, shutdown, retention. */
export const operationSettings = {
  nodeEnv: defineOptionalSetting({
    key: 'NODE_ENV',
    description:
      '`development` and `test` allow the settings that are for development only. Any other value refuses them.',
    schema: freeText,
    processes: ['api', 'relay', 'worker', 'inbound'],
  }),
  logLevel: defineSetting({
    key: 'LOG_LEVEL',
    description: '`error`, `warn`, `info`, `debug` or `silent`.',
    schema: oneOf('error', 'warn', 'info', 'debug', 'silent'),
    default: 'info',
    processes: ['api', 'relay', 'worker', 'inbound', 'console', 'all', 'cli'],
  }),
  roles: defineSetting({
    key: 'ROLES',
    description:
      'What this one process does: `all`, or some of `api`, `relay`, `worker`, `inbound` and `console`, comma-separated. ' +
      '`all` has the console only with `CONSOLE_KEYS`.',
    schema: roles,
    default: 'all',
    processes: ['all'],
  }),
  metricsHost: defineSetting({
    key: 'METRICS_HOST',
    description: 'Address that serves `/healthz`, `/readyz` and `/metrics`.',
    schema: hostName,
    default: '127.0.0.1',
    processes: ['relay', 'worker', 'inbound', 'all'],
  }),
  metricsPort: defineSetting({
    key: 'METRICS_PORT',
    description: 'Its port. 0 means any free port; the log line at start names it.',
    schema: port,
    default: { relay: '9101', worker: '9102', inbound: '9103', all: '9101' },
    processes: ['relay', 'worker', 'inbound', 'all'],
  }),
  shutdownDeadlineMs: defineSetting({
    key: 'SHUTDOWN_DEADLINE_MS',
    description:
      'Longest time between SIGTERM and the exit. Work that takes longer is repeated when its lease ends.',
    unit: 'ms',
    schema: wholeNumber(1, 600_000),
    default: '25000',
    processes: ['api', 'relay', 'worker', 'inbound', 'console', 'all'],
  }),
  eventRetentionDays: defineSetting({
    key: 'EVENT_RETENTION_DAYS',
    description:
      'Whole days of events are deleted after this. An event with outstanding work or logged attempts stays. A dead letter keeps a copy of its event, for a replay.',
    unit: 'days',
    schema: wholeNumber(1, 3650),
    default: '30',
    processes: ['relay', 'console'],
  }),
  attemptRetentionDays: defineSetting({
    key: 'ATTEMPT_RETENTION_DAYS',
    description: 'Whole days of the attempt log are deleted after this.',
    unit: 'days',
    schema: wholeNumber(1, 3650),
    default: '30',
    processes: ['relay', 'console'],
  }),
  mailContentRetentionDays: defineSetting({
    key: 'MAIL_CONTENT_RETENTION_DAYS',
    description:
      'The bodies and attachments of a message are deleted after this. Mail that is not sent yet keeps them.',
    unit: 'days',
    schema: wholeNumber(1, 3650),
    default: '30',
    processes: ['relay', 'console'],
  }),
  mailRetentionDays: defineSetting({
    key: 'MAIL_RETENTION_DAYS',
    description: 'A message is deleted after this, with all its records. Mail that is not sent yet stays.',
    unit: 'days',
    schema: wholeNumber(1, 3650),
    default: '365',
    processes: ['relay', 'console'],
  }),
  inboundRetentionDays: defineSetting({
    key: 'INBOUND_RETENTION_DAYS',
    description:
      'A received message is deleted after this, held or not. So is a thread without a newer message. Their bytes leave the blob store about a day later.',
    unit: 'days',
    schema: wholeNumber(1, 3650),
    default: '30',
    processes: ['relay', 'console'],
  }),
  deadLetterRetentionDays: defineSetting({
    key: 'DEAD_LETTER_RETENTION_DAYS',
    description: 'A dead letter is deleted after this.',
    unit: 'days',
    schema: wholeNumber(1, 3650),
    default: '90',
    processes: ['relay', 'console'],
  }),
  deadLettersPerWebhookMax: defineSetting({
    key: 'DEAD_LETTERS_PER_WEBHOOK_MAX',
    description: 'Dead letters kept per webhook. Every hour the oldest beyond this number are deleted.',
    schema: wholeNumber(1, 100_000),
    default: '10000',
    processes: ['relay', 'console'],
  }),
  auditRetentionDays: defineSetting({
    key: 'AUDIT_RETENTION_DAYS',
    description: 'An entry of the audit (`postrider audit list`) is deleted after this.',
    unit: 'days',
    schema: wholeNumber(1, 3650),
    default: '365',
    processes: ['relay', 'console'],
  }),
};
