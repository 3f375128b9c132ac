import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { createBlobStore } from '@postrider/blobs';
import type { BlobStore } from '@postrider/blobs';
import { createLinkTokens, createUnsubscribeTokens, newId, RESERVED_NAMES } from '@postrider/domain';
import type { AccountId, DeadLetterId, KeyKind, RateLimiter, Scope, WebhookId } from '@postrider/domain';
import type { DomainProvider } from '@postrider/mail';
import { createPostgresRateLimiter } from '@postrider/rate-limit';
import { createLogger, createMetrics, systemClock } from '@postrider/runtime';
import type { Logger, Metrics } from '@postrider/runtime';
import {
  createAccountStore,
  createApiKeyStore,
  createDomainStore,
  createDomainTurns,
  createReceivedMessageStore,
  createWakeUps,
  openDatabase,
  outstandingOf,
  readiness,
} from '@postrider/store';
import type { Database, DomainLimits, IncomingMessage, TurnLength } from '@postrider/store';
import { ACTOR, createRows, createTestDatabase, setup } from '@postrider/testing';
import type { Rows, TestDatabase } from '@postrider/testing';
import { createApp } from '../src/app.ts';
import type { DeliveryLimits } from '../src/http/account-slots.ts';
import type { RouteRules } from '../src/routes/route.ts';
import { SendingDomains } from '../src/domains/sending-domains.ts';
import { ApiServer } from '../src/server.ts';
import { createSnsAccess } from '../src/sns-access.ts';
import type { SnsAccess } from '../src/sns-access.ts';
import { openRouteStores } from '../src/stores.ts';
import type { RouteStores } from '../src/stores.ts';

export const BASES = { service: 'https://problems.test', platform: 'https://platform.test' };

/** An account of its own with one key. */
export interface Caller {
  readonly accountId: AccountId;
  readonly keyId: string;
  readonly key: string;
  /** The header that a request of this caller carries. */
  readonly authorization: string;
}

export interface TestApi {
  readonly url: string;
  readonly port: number;
  readonly server: ApiServer;
  readonly metrics: Metrics<'api'>;
  readonly database: TestDatabase;
  /** In a folder that the API reads. */
  readonly blobs: BlobStore;
  /** Everything that the API has logged so far, as written. */
  readonly log: () => string;
  /** The complete lines of the log so far. The API appends to this array. */
  readonly logLines: readonly string[];
  readonly rows: Rows;
  newCaller(wish?: CallerWish): Promise<Caller>;
  revoke(keyId: string): Promise<void>;
  /** A dead letter of the webhook, with an event of its own. */
  newDeadLetter(accountId: AccountId, webhookId: string): Promise<DeadLetterId>;
  /**
   * Stores a message as an inbound process does once it is parsed and screened.
   * @returns the id of the message @throws Error when no inbox took it
   */
  receive(
    message: Partial<IncomingMessage> & Pick<IncomingMessage, 'recipients' | 'from' | 'to'>,
  ): Promise<string>;
  stop(): Promise<void>;
}

export interface CallerWish {
  readonly accountId?: AccountId;
  readonly scopes?: readonly Scope[];
  readonly kind?: KeyKind;
  readonly rateLimitPerMinute?: number;
}

export interface TestApiOptions {
  /** How the API reaches the test's database; direct without. */
  readonly through?: (databaseUrl: string) => Promise<string> | string;
  /** How the stores behind the routes do, if not as those of the keys and of the limiter. */
  readonly storesThrough?: (databaseUrl: string) => string;
  /** The stores behind the routes, where a test does something between their calls. */
  readonly wrapStores?: (stores: RouteStores) => RouteStores;
  /** Instead of the limiter in Postgres. */
  readonly limiter?: RateLimiter;
  readonly keyRateLimitPerMinute?: number;
  /** As `MAIL_PROVIDER=ses` has it. */
  readonly verifiedDomainsOnly?: boolean;
  /** False: as with `MAIL_PROVIDER=ses`. Default: true. */
  readonly smtpUtf8?: boolean;
  /** How many connections the API thinks its routes share. Default: the size of the pool. */
  readonly storeConnections?: number;
  /** Default: as many as no test makes. */
  readonly webhooksPerAccountMax?: number;
  /** Default: more than any test writes. */
  readonly deliveryLimits?: Partial<Pick<DeliveryLimits, 'perSecond' | 'outstandingMax'>>;
  /** Absent: the deployment has no domains. */
  readonly domainProvider?: Omit<DomainProvider, 'close'>;
  readonly domainTurn?: TurnLength;
  /** Default: as many as no test makes. */
  readonly domainLimits?: Partial<DomainLimits>;
  /** Default: no topic is allowed. */
  readonly sns?: SnsAccess;
  readonly publicUrl?: string;
  /** Where the API reads blobs, if not where the test puts them. */
  readonly blobsThrough?: (blobs: BlobStore) => Pick<BlobStore, 'open' | 'sizeOf' | 'read'>;
}

const NOBODY_BELIEVED = createSnsAccess(
  { snsTopicArns: [], snsAllowSha1: false, snsSigningCertFile: undefined, inboundS3Buckets: [] },
  systemClock,
);

/** What the API's tokens are made with. */
export const SECRET_KEYS: readonly Buffer[] = [Buffer.alloc(32, 7)];

/** On which every account may have inboxes, and rules for an address. */
export const SHARED_DOMAIN = 'inbound.postrider.example';

const POOL_SIZE = 10;
const MANY = 1_000_000;
const DOMAIN_TURN: TurnLength = { operationMs: 10_000, marginMs: 50_000 };
const SHUTDOWN_MS = 5_000;

/**
 * Registers hooks that start one API for the test file, and stop it at the end.
 *
 * @param options evaluated when the API starts
 * @returns the API. Its properties exist in later hooks and in tests.
 */
export function setupApi(options: TestApiOptions | (() => TestApiOptions) = {}): TestApi {
  return setup(
    () => startApi(typeof options === 'function' ? options() : options),
    (api) => api.stop(),
  );
}

/** A listening API on a database of its own, put together as `main.ts` does. */
export async function startApi(options: TestApiOptions = {}): Promise<TestApi> {
  const testDatabase = await createTestDatabase();
  const databaseUrl = (await options.through?.(testDatabase.url)) ?? testDatabase.url;
  const { logger, log, logLines } = capturedLog();
  const onError = (error: Error): void => logger.warn('connection lost', { error });
  const connection = { databaseUrl, applicationName: 'api-test', onError };
  const wakeUps = createWakeUps(connection);
  const database = openDatabase({ ...connection, size: POOL_SIZE }, wakeUps);
  const storesUrl = options.storesThrough?.(testDatabase.url);
  const behindOptions = { ...connection, databaseUrl: storesUrl ?? databaseUrl, size: POOL_SIZE };
  const behind = storesUrl === undefined ? database : openDatabase(behindOptions, wakeUps);
  const metrics = createMetrics('api', { processMetrics: false });
  const limiter = options.limiter ?? limiterIn(database, logger);
  const folder = await mkdtemp(join(tmpdir(), 'postrider-api-blobs-'));
  const blobs = createBlobStore(`file:${folder}`);
  const app = createApp({
    apiKeys: createApiKeyStore(database, systemClock),
    stores: storesOf(behind, options),
    sendingDomains: sendingDomainsOf(behind, options, logger),
    unsubscribeTokens: createUnsubscribeTokens(SECRET_KEYS),
    links: { tokens: createLinkTokens(SECRET_KEYS, systemClock), publicUrl: options.publicUrl },
    blobs: options.blobsThrough?.(blobs) ?? blobs,
    limiter,
    ...limitsOf(behind, options),
    keyRateLimitPerMinute: options.keyRateLimitPerMinute ?? MANY,
    problemBases: BASES,
    rules: rulesOf(options),
    sns: options.sns ?? NOBODY_BELIEVED,
    readiness: () => readiness(database.pool),
    clock: systemClock,
    logger,
    metrics,
  });
  const server = new ApiServer(app, { connectionsPerAddressMax: 0 });
  const port = await server.listen(0, '127.0.0.1');
  const operator = await openOperator(testDatabase);
  return {
    ...operator,
    url: `http://127.0.0.1:${port}`,
    port,
    server,
    metrics,
    database: testDatabase,
    blobs,
    log,
    logLines,
    async stop() {
      await server.stop(SHUTDOWN_MS);
      for (const each of new Set([behind, database])) await each.close();
      await wakeUps.close();
      await operator.close();
      await testDatabase.drop();
      blobs.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function limitsOf({ pool }: Database, options: TestApiOptions) {
  const deliveryLimits: DeliveryLimits = {
    perSecond: MANY,
    outstandingMax: MANY,
    outstandingOf: async (accountId) => outstandingOf(pool, accountId),
    ...options.deliveryLimits,
  };
  return { storeConnections: options.storeConnections ?? POOL_SIZE, deliveryLimits };
}

function rulesOf(options: TestApiOptions): RouteRules {
  return {
    verifiedDomainsOnly: options.verifiedDomainsOnly ?? false,
    smtpUtf8: options.smtpUtf8 ?? true,
    webhooksPerAccountMax: webhooksMax(options),
    signatureHeaderPrefix: 'Acme',
    awsRegion: undefined,
  };
}

function limiterIn(database: Database, logger: Logger): RateLimiter {
  return createPostgresRateLimiter({
    query: async (sql, params) => (await database.pool.query<object>(sql, [...params])).rows,
    onUnavailable: (error) => logger.warn('rate limiter unavailable', { error }),
    timeoutMs: 10_000,
  });
}

function webhooksMax({ webhooksPerAccountMax = MANY }: TestApiOptions): number {
  return webhooksPerAccountMax;
}

function storesOf(database: Database, options: TestApiOptions): RouteStores {
  const stores = openRouteStores(database, systemClock, {
    secretKeys: SECRET_KEYS,
    sharedDomains: [SHARED_DOMAIN],
    reservedNames: RESERVED_NAMES,
    inboxesPerAccountMax: MANY,
    webhooksPerAccountMax: webhooksMax(options),
  });
  return options.wrapStores?.(stores) ?? stores;
}

function sendingDomainsOf(database: Database, options: TestApiOptions, logger: Logger) {
  if (options.domainProvider === undefined) return null;
  return new SendingDomains({
    store: createDomainStore(database, systemClock),
    turns: createDomainTurns(database, options.domainTurn ?? DOMAIN_TURN),
    provider: options.domainProvider,
    limits: { all: MANY, unverified: MANY, ...options.domainLimits },
    logger,
  });
}

function capturedLog() {
  const logLines: string[] = [];
  let unfinished = '';
  const stream = new PassThrough().setEncoding('utf8').on('data', (chunk: string) => {
    const lines = `${unfinished}${chunk}`.split('\n');
    unfinished = lines.pop() ?? '';
    logLines.push(...lines);
  });
  const logger = createLogger({ level: 'debug', service: 'api', stream });
  return { logger, logLines, log: () => [...logLines, unfinished].join('\n') };
}

/** What is done to the database beside the API, on connections of its own. */
async function openOperator(testDatabase: TestDatabase) {
  const connection = { databaseUrl: testDatabase.url, applicationName: 'operator', onError: () => undefined };
  const wakeUps = createWakeUps(connection);
  const database = openDatabase({ ...connection, size: 2 }, wakeUps);
  const accounts = createAccountStore(database, systemClock);
  const apiKeys = createApiKeyStore(database, systemClock);
  const receivedMessages = createReceivedMessageStore(database, systemClock, [SHARED_DOMAIN]);
  return {
    rows: createRows(testDatabase),
    async newCaller(wish: CallerWish = {}): Promise<Caller> {
      const accountId = wish.accountId ?? (await accounts.create('Test')).id;
      const { apiKey, key } = await apiKeys.create(
        {
          accountId,
          kind: wish.kind ?? 'live',
          scopes: wish.scopes ?? ['webhooks:manage', 'emails:send', 'emails:read'],
          rateLimitPerMinute: wish.rateLimitPerMinute ?? null,
        },
        ACTOR,
      );
      return { accountId, keyId: apiKey.id, key, authorization: `Bearer ${key}` };
    },
    async revoke(keyId: string): Promise<void> {
      await apiKeys.revoke(keyId as Parameters<typeof apiKeys.revoke>[0], ACTOR);
    },
    async newDeadLetter(accountId: AccountId, webhookId: string): Promise<DeadLetterId> {
      return insertDeadLetter(testDatabase, accountId, webhookId as WebhookId);
    },
    async receive(message: Parameters<TestApi['receive']>[0]): Promise<string> {
      const reception = await receivedMessages.receive({ ...anyMessage(), ...message });
      if (reception.kind !== 'stored' || reception.messages[0] === undefined)
        throw new Error('it went nowhere');
      return reception.messages[0].id;
    },
    async close() {
      await database.close();
      await wakeUps.close();
    },
  };
}

function anyMessage() {
  return {
    digest: createHash('sha256').update(randomUUID()).digest(),
    blob: 'b'.repeat(64),
    size: 1_000,
    senders: [],
    messageId: `${randomUUID()}@mail.example`,
    inReplyTo: null,
    references: [],
    cc: [],
    replyTo: [],
    subject: 'Order',
    text: 'Where is it?',
    html: null,
    headers: [],
    attachments: [],
    automatic: false,
    complete: true,
    heldReason: null,
    auth: { spf: 'pass', dkim: 'none', dmarc: 'none' },
  } satisfies Partial<IncomingMessage>;
}

async function insertDeadLetter(
  database: TestDatabase,
  accountId: AccountId,
  webhookId: WebhookId,
): Promise<DeadLetterId> {
  const id = newId('deadLetter', systemClock);
  await database.query(
    `insert into dead_letters
       (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts, reason, last_error, status_code)
     values ($1, $2, $3, $4, 'email.sent', now(), '{}', 8, 'attempts_exhausted', 'HTTP 503', 503)`,
    [id, accountId, webhookId, newId('event', systemClock)],
  );
  return id;
}
