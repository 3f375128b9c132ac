import { createBlobStore } from '@postrider/blobs';
import {
  createLinkTokens,
  createUnsubscribeTokens,
  LIMITS,
  RESERVED_NAMES,
  sharedInboundDomains,
} from '@postrider/domain';
import { createDomainProvider } from '@postrider/mail';
import type { DomainProvider } from '@postrider/mail';
import { databaseReadiness, logMailProvider, systemClock, warnWithoutPublicUrl } from '@postrider/runtime';
import type { ReadinessCheck, Shell } from '@postrider/runtime';
import {
  agreeOnMailProvider,
  createApiKeyStore,
  createDomainTurns,
  outstandingOf,
  readiness,
} from '@postrider/store';
import type { Database, DomainStore, MailProviderName } from '@postrider/store';
import { createApp } from './app.ts';
import type { AppOptions } from './app.ts';
import { domainClaimsTask } from './domains/domain-claims.ts';
import { SendingDomains } from './domains/sending-domains.ts';
import { createLimiter } from './limiter.ts';
import type { LimiterOptions } from './limiter.ts';
import { ApiServer } from './server.ts';
import { createSnsAccess } from './sns-access.ts';
import { openRouteStores } from './stores.ts';

/** The shutdown keeps this much of its deadline to close Postgres and Redis after the last request. */
const CLOSING_TIME_MS = 2_000;
/**
 * Time for the Postgres statements of a turn on a domain, beside the provider's operation. If they take
 * longer, another process gets the turn.
 */
const DOMAIN_TURN_MARGIN_MS = 5_000;

/** The databases stay open: their opener closes them after the API has stopped. */
export interface ApiConnections {
  readonly database: Database;
  /** The connections of `database` that all routes together may take. */
  readonly storeConnections: number;
  /** Authentication has its own connections, so the work of accounts cannot block it. */
  readonly keyDatabase: Database;
  /**
   * The limiter charges requests on this connection when there is no Redis. A charge may take 250 ms, so it
   * must not wait for other statements.
   */
  readonly limiterConnection: LimiterOptions['postgres'];
}

type ApiParts = Shell<'api'> & ApiConnections;

/** Builds the API and adds its parts to the start list. @returns the check behind `/readyz`. */
export function addApi(parts: ApiParts): ReadinessCheck {
  const { config, database, lifecycle, limiterConnection, logger, metrics } = parts;
  const blobs = createBlobStore(config.blobStore);
  const limiter = createLimiter({ redisUrl: config.redisUrl, postgres: limiterConnection, logger, metrics });
  const sns = createSnsAccess(config, systemClock);
  if (config.snsSigningCertFile !== undefined) {
    logger.warn('DEVELOPMENT ONLY: notifications are checked with the certificate of SNS_SIGNING_CERT_FILE');
  }
  warnWithoutPublicUrl(parts, 'links to files of mail begin with http:// and the Host of the request');
  let server: ApiServer | null = null;
  const checkReadiness: ReadinessCheck = async () => {
    if (server?.stopping === true) return { ready: false, reason: 'stopping' };
    const state = await databaseReadiness(() => readiness(database.pool));
    return { ...state, parts: { ...state.parts, limiter: limiter.state(state.parts.postgres) } };
  };
  lifecycle
    .add('SNS_SIGNING_CERT_FILE', { start: () => sns.start() })
    .add('blob store', { stop: async () => blobs.close() })
    .add('rate limiter', limiter)
    .add('the mail provider', {
      async start() {
        const agreed = await agreeOnMailProvider(database, config.mailProvider);
        logMailProvider(parts, agreed);
        server = await addServer(parts, { blobs, limiter, sns, readiness: checkReadiness }, agreed.name);
      },
    });
  return checkReadiness;
}

/** Adds the HTTP server. Its routes depend on the installation's mail provider. */
async function addServer(
  parts: ApiParts,
  shared: Pick<AppOptions, 'blobs' | 'limiter' | 'sns' | 'readiness'>,
  provider: MailProviderName,
): Promise<ApiServer> {
  const { config, database, lifecycle, logger, metrics } = parts;
  const stores = openRouteStores(database, systemClock, {
    secretKeys: config.secretsKey,
    sharedDomains: sharedInboundDomains(config.inboundDomains, provider),
    reservedNames: [...RESERVED_NAMES, ...config.inboundReservedNames],
    inboxesPerAccountMax: LIMITS.inboxes,
    webhooksPerAccountMax: config.webhooksPerAccountMax,
  });
  const { sendingDomains, domainWork } = await openSendingDomains(parts, stores.domains, provider);
  const app = createApp({
    ...shared,
    apiKeys: createApiKeyStore(parts.keyDatabase, systemClock),
    stores,
    sendingDomains,
    unsubscribeTokens: createUnsubscribeTokens(config.secretsKey),
    links: { tokens: createLinkTokens(config.secretsKey, systemClock), publicUrl: config.publicUrl },
    storeConnections: parts.storeConnections,
    deliveryLimits: {
      perSecond: config.deliveriesPerAccountPerSecond,
      outstandingMax: config.outstandingDeliveriesPerAccountMax,
      outstandingOf: async (accountId) => outstandingOf(database.pool, accountId),
    },
    keyRateLimitPerMinute: config.keyRateLimitPerMinute,
    problemBases: { service: config.problemsBase, platform: config.platformProblemsBase },
    rules: {
      verifiedDomainsOnly: provider === 'ses',
      smtpUtf8: provider !== 'ses',
      awsRegion: config.awsRegion,
      webhooksPerAccountMax: config.webhooksPerAccountMax,
      signatureHeaderPrefix: config.signatureHeaderPrefix,
    },
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
  return server;
}

/** `sendingDomains` is null when there is no domain provider. */
async function openSendingDomains(parts: ApiParts, domains: DomainStore, provider: MailProviderName) {
  const { config, database, logger } = parts;
  const domainProvider = await openDomainProvider(parts, provider);
  if (domainProvider === null) return { sendingDomains: null, domainWork: {} };
  const sendingDomains = new SendingDomains({
    store: domains,
    turns: createDomainTurns(database, {
      operationMs: config.domainTimeoutMs,
      marginMs: DOMAIN_TURN_MARGIN_MS,
    }),
    provider: domainProvider,
    limits: { all: config.domainsPerAccountMax, unverified: config.unverifiedDomainsPerAccountMax },
    logger,
  });
  const claims = domainClaimsTask({
    store: domains,
    domains: sendingDomains,
    claimDays: config.domainClaimDays,
    logger,
  });
  const domainWork = {
    start: async () => claims.start(),
    async stop() {
      const stopped = claims.stop();
      domainProvider.close(); // aborts the call that the claims may be waiting for
      await stopped;
    },
  };
  return { sendingDomains, domainWork };
}

/**
 * Only SES has sending domains. Without a region, the routes of sending domains answer 503. Live mail through
 * SES still needs a verified domain.
 */
async function openDomainProvider(
  { config, logger }: ApiParts,
  provider: MailProviderName,
): Promise<DomainProvider | null> {
  if (provider !== 'ses') return null;
  const { awsRegion, domainTimeoutMs, sesConfigurationSet } = config;
  if (awsRegion === undefined) {
    logger.warn(
      'AWS_REGION is not set, and the mail provider is ses: the routes of sending domains answer 503',
    );
    return null;
  }
  return createDomainProvider({
    region: awsRegion,
    timeoutMs: domainTimeoutMs,
    configurationSet: sesConfigurationSet,
  });
}
