import { beforeEach } from '@jest/globals';
import {
  CONTRACT_RETRY_DELAYS_SECONDS,
  createSecretBox,
  retrySchedule,
  sealHeaders,
} from '@postrider/domain';
import type { AccountId, WebhookHeaders, WebhookId } from '@postrider/domain';
import { AddressGuard, EndpointClient, NameResolver } from '@postrider/outbound';
import type { HttpClient } from '@postrider/outbound';
import { createMetrics } from '@postrider/runtime';
import type { Metrics } from '@postrider/runtime';
import { createDeliveryOutbox, createDeliveryWork, openDatabase } from '@postrider/store';
import type { Database, DeliveryClaim } from '@postrider/store';
import {
  createRows,
  createTestAuthority,
  createTestDatabase,
  fakeClock,
  setup,
  startNameServer,
  startScriptedReceiver,
} from '@postrider/testing';
import type {
  DeliveryWish,
  FakeClock,
  NameReply,
  Rows,
  ScriptedReceiver,
  TestDatabase,
} from '@postrider/testing';
import { makeAttempt } from '../src/delivery/attempt.ts';
import { deliver } from '../src/delivery/deliver.ts';
import type { DeliveryStages } from '../src/delivery/deliver.ts';
import { createLoader } from '../src/delivery/load.ts';
import { createRecorder } from '../src/delivery/record.ts';
import { createReporter } from '../src/delivery/report.ts';
import { keepLog } from './kept-log.ts';
import type { KeptLog } from './kept-log.ts';

/** The signing secret of each endpoint in the fixture. */
export const SECRET = 'whsec_of-the-tests-own';
const SECRETS = createSecretBox([Buffer.alloc(32, 1)]);

export interface EndpointRow {
  readonly accountId: AccountId;
  readonly webhookId: WebhookId;
}

/** The properties of a worker in a test. */
export interface WorkerOptions {
  /** Default: 20 s. No attempt here takes that long. */
  readonly timeoutMs?: number;
  /** Default: 30. */
  readonly leaseSeconds?: number;
  /** Its keys do not open the endpoints' secrets. */
  readonly otherKeys?: boolean;
  /** Default: https. */
  readonly httpClient?: HttpClient;
  /** Default: false. */
  readonly standardWebhooks?: boolean;
  /** Default: the fixture's own connections. */
  readonly database?: Database;
}

/** A real database, endpoint server and name server, for the stages of a delivery. */
export interface DeliveryFixture {
  readonly database: TestDatabase;
  readonly rows: Rows;
  readonly db: Database;
  readonly receiver: ScriptedReceiver;
  /** The clock for signatures. */
  readonly clock: FakeClock;
  readonly log: KeptLog;
  readonly metrics: Metrics<'worker'>;
  /** Adds a webhook at this address, or at this path of the receiver. */
  endpoint(address: string, headers?: WebhookHeaders): Promise<EndpointRow>;
  /** Adds a due delivery. @returns the job that the relay would add */
  job(webhookId: WebhookId, options?: DeliveryWish): Promise<DeliveryClaim>;
  /** The job of the next claim. A retry becomes due first; a lease runs out first. */
  nextJob(webhookId: WebhookId): Promise<DeliveryClaim>;
  /** A worker that handles a job with all stages, from load to report. */
  worker(options?: WorkerOptions): (job: DeliveryClaim) => Promise<void>;
}

/**
 * Registers hooks: one fixture for the test file. Its tables and its log are empty before each test.
 *
 * @param names how the name server answers
 */
export function setupDeliveries(names: (name: string) => NameReply): DeliveryFixture {
  const fixture = setup(
    () => openDeliveryFixture(names),
    (opened) => opened.close(),
  );
  beforeEach(async () => {
    await fixture.rows.clear();
    fixture.log.clear();
  });
  return fixture;
}

async function openDeliveryFixture(names: (name: string) => NameReply) {
  const database = await createTestDatabase();
  const authority = await createTestAuthority();
  const receiver = await startScriptedReceiver({ authority });
  const nameServer = await startNameServer(names);
  const resolver = new NameResolver({ servers: [nameServer.address] });
  const parts: WorkerParts = {
    db: openTestDatabase(database.url),
    clock: fakeClock('2026-03-01T12:00:00.000Z'),
    log: keepLog(),
    metrics: createMetrics('worker', { processMetrics: false }),
    resolver,
    ca: [authority.caPem],
    clients: [],
  };
  return {
    database,
    receiver,
    ...parts,
    ...rowsOf(database, parts.db, (address) => (address.startsWith('/') ? receiver.url(address) : address)),
    worker: (options = {}) => createWorker(parts, options),
    async close() {
      for (const client of parts.clients) client.close();
      resolver.close();
      await nameServer.close();
      await receiver.close();
      await parts.db.close();
      await database.drop();
    },
  };
}

/** The parts that all workers of a fixture share. */
interface WorkerParts extends Pick<DeliveryFixture, 'db' | 'clock' | 'log' | 'metrics'> {
  readonly resolver: NameResolver;
  readonly ca: readonly string[];
  /** `close` closes these. */
  readonly clients: EndpointClient[];
}

function createWorker(parts: WorkerParts, options: WorkerOptions): (job: DeliveryClaim) => Promise<void> {
  const { clock, log, metrics, resolver, ca } = parts;
  const { pool } = options.database ?? parts.db;
  const store = createDeliveryWork(pool, pool);
  const client = new EndpointClient({
    httpClient: options.httpClient ?? 'https',
    timeoutMs: options.timeoutMs ?? 20_000,
    guard: new AddressGuard({ allowedNetworks: ['127.0.0.1/32'] }),
    socketsPerHost: 10,
    resolver,
    ca,
  });
  parts.clients.push(client);
  const secrets = options.otherKeys === true ? createSecretBox([Buffer.alloc(32, 2)]) : SECRETS;
  const standardWebhooks = options.standardWebhooks ?? false;
  const attemptParts = { client, secrets, clock, headerPrefix: 'Service', standardWebhooks };
  const stages: DeliveryStages = {
    load: createLoader(store, options.leaseSeconds ?? 30, 1, new AbortController().signal),
    attempt: (delivery) => makeAttempt(delivery, attemptParts),
    record: createRecorder(store, clock),
    schedule: retrySchedule(CONTRACT_RETRY_DELAYS_SECONDS),
    report: createReporter({ logger: log.logger, metrics, store }),
  };
  return (job) => deliver(job, stages);
}

function rowsOf(
  database: TestDatabase,
  db: Database,
  urlOf: (address: string) => string,
): Pick<DeliveryFixture, 'rows' | 'endpoint' | 'job' | 'nextJob'> {
  const rows = createRows(database);
  return {
    rows,
    async endpoint(address, headers) {
      const accountId = await rows.account();
      const webhookId = await rows.webhook({ accountId });
      const { keyId, sealed } = SECRETS.seal(SECRET, webhookId);
      const sealedHeaders = headers === undefined ? null : sealHeaders(SECRETS, headers, webhookId).sealed;
      await database.query(
        'update webhooks set endpoint = $2, secret_key_id = $3, secret_sealed = $4, headers_sealed = $5 where id = $1',
        [webhookId, urlOf(address), keyId, sealed, sealedHeaders],
      );
      return { accountId, webhookId };
    },
    async job(webhookId, options = {}) {
      const [deliveryId = ''] = await rows.deliveries(webhookId, options);
      return { deliveryId, claim: 0 };
    },
    async nextJob(webhookId) {
      await database.query(
        'update deliveries set due_at = least(due_at, now()), leased_until = null where webhook_id = $1',
        [webhookId],
      );
      const limits = {
        fastRowsMax: 9,
        slowRowsMax: 9,
        delayedRowsMax: 9,
        lookAheadSeconds: 0,
        leaseSeconds: 30,
        stuckAfterSeconds: 1,
        deadWorkers: [],
      };
      const unknown = { slow: false, accountInFlight: 0, lowWaterMark: null };
      const request = { webhookId, limit: 1, rowsToRead: 1, ...unknown };
      const [claim] = await createDeliveryOutbox(db.pool).claim([request], limits);
      const [job] = claim?.leased ?? [];
      if (job === undefined) throw new Error('nothing is outstanding for this webhook');
      return job;
    },
  };
}

/** Registers hooks: one connection of a worker to the database, for the test file. */
export function setupWorkerConnection(database: TestDatabase): Database {
  return setup(
    async () => openTestDatabase(database.url),
    (db) => db.close(),
  );
}

/** Opens the database as a worker does. Wake-ups go nowhere, because the tests make the jobs. */
export function openTestDatabase(databaseUrl: string): Database {
  return openDatabase(
    { databaseUrl, size: 4, applicationName: 'worker-test', onError: () => undefined },
    { send: () => undefined, close: async () => undefined },
  );
}
