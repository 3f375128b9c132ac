import { createBlobStore } from '@postrider/blobs';
import {
  createLinkTokens,
  createSecretBox,
  createUnsubscribeTokens,
  LIMITS,
  RESERVED_NAMES,
  sharedInboundDomains,
} from '@postrider/domain';
import { createDomainProvider } from '@postrider/mail';
import type { DomainProvider } from '@postrider/mail';
import { errorCode, logMailProvider, processShell, systemClock } from '@postrider/runtime';
import {
  agreeOnMailProvider,
  createApiKeyStore,
  createAttemptStore,
  createEventCountStore,
  createEventStore,
  createRecoveryStore,
  createWebhookEventStore,
  createBlockedSenderStore,
  createDeadLetterStore,
  createDomainStore,
  createDomainTurns,
  createEmailStore,
  createRoutingRuleStore,
  createInboxStore,
  createMessageStore,
  createSuppressionStore,
  createThreadStore,
  createTopicStore,
  createUnsubscribeStore,
  createProviderNotificationStore,
  createSesMailStore,
  createWakeUps,
  createWebhookStore,
  openDatabase,
  outstandingOf,
  readiness,
  requireDatabase,
} from '@postrider/store';
import type { MailProviderName } from '@postrider/store';
import { createApp } from './app.ts';
import { connectionShares, domainTurn, problemBasesOf } from './config.ts';
import { createDomainClaims } from './domains/domain-claims.ts';
import { SendingDomains } from './domains/sending-domains.ts';
import type { DeliveryLimits } from './http/account-slots.ts';
import { createLimiter } from './limiter.ts';
import type { RouteRules } from './routes/table.ts';
import { ApiServer } from './server.ts';
import { createSnsAccess } from './sns-access.ts';

/** The shutdown keeps this much of its deadline to close Postgres and Redis after the last request. */
const CLOSING_TIME_MS = 2_000;

const { config, logger, metrics, lifecycle } = processShell('api');

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
const keysDatabase = openDatabase({ ...postgres, size: shares.keys }, wakeUps);
const limiter = createLimiter({
  redisUrl: config.redisUrl,
  postgres: { ...postgres, size: shares.limiter },
  logger,
  metrics,
});
const secrets = createSecretBox(config.secretsKey);
const blobs = createBlobStore(config.blobStore);
const domains = createDomainStore(database, systemClock);
const sns = createSnsAccess(config, systemClock);
if (config.snsSigningCertFile !== undefined) {
  logger.warn('DEVELOPMENT ONLY: notifications are checked with the certificate of SNS_SIGNING_CERT_FILE');
}

/** The stores of webhooks and of what becomes of their events. */
const eventStores = {
  webhooks: createWebhookStore(database, secrets, systemClock),
  attempts: createAttemptStore(database),
  events: createEventStore(database),
  eventCounts: createEventCountStore(database),
  webhookEvents: createWebhookEventStore(database),
  recoveries: createRecoveryStore(database, systemClock),
  deadLetters: createDeadLetterStore(database),
};

const deliveryLimits: DeliveryLimits = {
  perSecond: config.deliveriesPerAccountPerSecond,
  outstandingMax: config.outstandingDeliveriesPerAccountMax,
  outstandingOf: async (accountId) => outstandingOf(database.pool, accountId),
};

/** Adds the HTTP server. Its routes depend on the installation's mail provider. */
function addServer(provider: MailProviderName): void {
  const { sendingDomains, domainWork } = openSendingDomains(provider);
  const shared = {
    sharedDomains: sharedInboundDomains(config.inboundDomains, provider),
    reservedNames: [...RESERVED_NAMES, ...config.inboundReservedNames],
  };

  const app = createApp({
    stores: {
      apiKeys: createApiKeyStore(keysDatabase, systemClock),
      ...eventStores,
      emails: createEmailStore(database, systemClock),
      domains,
      suppressions: createSuppressionStore(database, systemClock),
      topics: createTopicStore(database, systemClock),
      threads: createThreadStore(database, systemClock),
      messages: createMessageStore(database, systemClock),
      inboxes: createInboxStore(database, systemClock, { ...shared, perAccountMax: LIMITS.inboxes }),
      routingRules: createRoutingRuleStore(database, secrets, systemClock, {
        ...shared,
        webhooksPerAccountMax: config.webhooksPerAccountMax,
      }),
      blockedSenders: createBlockedSenderStore(database, systemClock, LIMITS.blockedSenders),
      unsubscribes: createUnsubscribeStore(database, systemClock),
      notifications: createProviderNotificationStore(database, systemClock),
      sesMail: createSesMailStore(database),
    },
    sendingDomains,
    unsubscribeTokens: createUnsubscribeTokens(config.secretsKey),
    links: { tokens: createLinkTokens(config.secretsKey, systemClock), publicUrl: config.publicUrl },
    blobs,
    limiter,
    storeConnections: shares.stores,
    deliveryLimits,
    keyRateLimitPerMinute: config.keyRateLimitPerMinute,
    problemBases: problemBasesOf(config),
    rules: rulesFor(provider),
    sns,
    readiness: async () => (server.stopping ? { ready: false, reason: 'stopping' } : readinessNow()),
    clock: systemClock,
    logger,
    metrics,
  });
  const server = new ApiServer(app, { connectionsPerAddressMax: config.httpConnectionsPerAddressMax });
  lifecycle.add('domain provider', domainWork).add('HTTP server', {
    start: async () => {
      const port = await server.listen(config.port, config.host);
      logger.info('listening', { host: config.host, port });
    },
    stop: (remainingMs) => server.stop(Math.max(0, remainingMs - CLOSING_TIME_MS)),
  });
}

function rulesFor(provider: MailProviderName): RouteRules {
  return {
    verifiedDomainsOnly: provider === 'ses',
    smtpUtf8: provider !== 'ses',
    webhooksPerAccountMax: config.webhooksPerAccountMax,
    signatureHeaderPrefix: config.signatureHeaderPrefix,
    awsRegion: provider === 'ses' ? config.awsRegion : undefined,
  };
}

async function readinessNow() {
  const state = await readiness(database.pool);
  return { ...state, parts: { ...state.parts, limiter: limiter.state(state.parts.postgres) } };
}

/** `sendingDomains` is null when the mail provider has no domains. */
function openSendingDomains(provider: MailProviderName) {
  const domainProvider = openDomains(provider);
  if (domainProvider === null) return { sendingDomains: null, domainWork: {} };
  const sendingDomains = new SendingDomains({
    store: domains,
    turns: createDomainTurns(database, domainTurn(config.domainTimeoutMs)),
    provider: domainProvider,
    limits: { all: config.domainsPerAccountMax, unverified: config.unverifiedDomainsPerAccountMax },
    logger,
  });
  const claims = createDomainClaims({
    store: domains,
    domains: sendingDomains,
    claimDays: config.domainClaimDays,
    clock: systemClock,
    logger,
  });
  const domainWork = {
    start: async () => claims.start(),
    async stop() {
      const stopped = claims.stop();
      await domainProvider.close(); // aborts the call that the claims may be waiting for
      await stopped;
    },
  };
  return { sendingDomains, domainWork };
}

/** Without a region, the routes of sending domains answer 503. Live mail still needs a verified domain. */
function openDomains(provider: MailProviderName): DomainProvider | null {
  const { awsRegion, domainTimeoutMs } = config;
  if (provider === 'ses' && awsRegion === undefined) {
    logger.warn(
      'AWS_REGION is not set, and the mail provider is ses: the routes of sending domains answer 503',
    );
    return null;
  }
  return createDomainProvider({ provider, awsRegion, timeoutMs: domainTimeoutMs });
}

await lifecycle
  .add('wake-ups', { stop: () => wakeUps.close() })
  .add('database', {
    start: () => requireDatabase(database.pool, (line) => logger.warn(line)),
    stop: () => database.close(),
  })
  .add('database of the keys', { stop: () => keysDatabase.close() })
  .add('SNS_SIGNING_CERT_FILE', { start: () => sns.start() })
  .add('blob store', { stop: async () => blobs.close() })
  .add('rate limiter', limiter)
  .add('the mail provider', {
    async start() {
      const agreed = await agreeOnMailProvider(database, config.mailProvider);
      logMailProvider({ config, logger }, agreed);
      addServer(agreed.name);
    },
  })
  .run();
