import { createSecretBox, createUnsubscribeTokens } from '@postrider/domain';
import { createDomainProvider } from '@postrider/mail';
import {
  createLifecycle,
  createLogger,
  createMetrics,
  errorCode,
  loadConfigOrExit,
  maskedConfig,
  systemClock,
} from '@postrider/runtime';
import {
  createApiKeyStore,
  createDeadLetterStore,
  createDomainStore,
  createDomainTurns,
  createEmailStore,
  createSuppressionStore,
  createTopicStore,
  createUnsubscribeStore,
  createProviderNotificationStore,
  createWakeUps,
  createWebhookStore,
  openDatabase,
  readiness,
  requireMigrated,
} from '@postrider/store';
import { createApp } from './app.ts';
import { connectionShares, domainTurn, problemBasesOf } from './config.ts';
import { createLimiter } from './limiter.ts';
import { createApiServer } from './server.ts';
import { createSnsAccess } from './sns-access.ts';

/** Of the time to stop, what is kept for letting go of Postgres and Redis once the last request is done. */
const CLOSING_TIME_MS = 2_000;

const config = loadConfigOrExit('api');
const logger = createLogger({ level: config.logLevel, service: 'api' });
const metrics = createMetrics('api');
logger.info('configuration', maskedConfig('api', config));

const shares = connectionShares(config.databasePoolSize, config.redisUrl === undefined);
const postgres = {
  databaseUrl: config.databaseUrl,
  applicationName: 'postrider-api',
  onError(error: Error) {
    metrics.postgresErrors.inc({ code: errorCode(error) });
    logger.warn('connection to Postgres lost', { error });
  },
};
const wakeUps = createWakeUps(postgres);
const database = openDatabase({ ...postgres, size: shares.stores }, wakeUps);
const limiter = createLimiter({
  redisUrl: config.redisUrl,
  postgres: { ...postgres, size: shares.limiter },
  logger,
  metrics,
});
const secrets = createSecretBox(config.secretsKey);
const sns = createSnsAccess(config, systemClock);
if (config.snsSigningCertFile !== undefined) {
  logger.warn('DEVELOPMENT ONLY: notifications are checked with the certificate of SNS_SIGNING_CERT_FILE');
}

const domainProvider = createDomainProvider({
  provider: config.mailProvider,
  awsRegion: config.awsRegion,
  timeoutMs: config.domainTimeoutMs,
});

const app = createApp({
  stores: {
    apiKeys: createApiKeyStore(database, systemClock),
    webhooks: createWebhookStore(database, secrets, systemClock),
    deadLetters: createDeadLetterStore(database),
    emails: createEmailStore(database, systemClock),
    domains: createDomainStore(database, systemClock),
    domainTurns: createDomainTurns(database, domainTurn(config.domainTimeoutMs)),
    suppressions: createSuppressionStore(database, systemClock),
    topics: createTopicStore(database, systemClock),
    unsubscribes: createUnsubscribeStore(database, systemClock),
    notifications: createProviderNotificationStore(database, systemClock),
  },
  domainProvider,
  unsubscribeTokens: createUnsubscribeTokens(config.secretsKey),
  limiter,
  keyRateLimitPerMinute: config.keyRateLimitPerMinute,
  problemBases: problemBasesOf(config),
  rules: { verifiedDomainsOnly: config.mailProvider === 'ses' },
  sns,
  readiness: async () => (server.stopping ? { ready: false, reason: 'stopping' } : readiness(database.pool)),
  logger,
  metrics,
});
const server = createApiServer(app);

await createLifecycle({ logger, deadlineMs: config.shutdownDeadlineMs })
  .add('wake-ups', { stop: () => wakeUps.close() })
  .add('database', { start: () => requireMigrated(database.pool), stop: () => database.close() })
  .add('SNS_SIGNING_CERT_FILE', { start: () => sns.start() })
  .add('rate limiter', { stop: () => limiter.close() })
  .add('domain provider', { stop: async () => domainProvider?.close() })
  .add('HTTP server', {
    start: async () => {
      const port = await server.listen(config.port, config.host);
      logger.info('listening', { host: config.host, port });
    },
    stop: (remainingMs) => server.stop(Math.max(0, remainingMs - CLOSING_TIME_MS)),
  })
  .run();
