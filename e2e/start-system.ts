import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSecretBox, recordEvent, SCOPES } from '@postrider/domain';
import type { AccountId, EventDraft, WebhookId } from '@postrider/domain';
import {
  createAccountStore,
  createApiKeyStore,
  createWakeUps,
  createWebhookStore,
  openDatabase,
} from '@postrider/store';
import type { Database, Webhook } from '@postrider/store';
import {
  createRows,
  createTestAuthority,
  createTestDatabase,
  newWebhook,
  startProcess,
  startScriptedReceiver,
  waitFor,
} from '@postrider/testing';
import type {
  ProcessName,
  ScriptedReceiver,
  SystemProcess,
  TestAuthority,
  TestDatabase,
} from '@postrider/testing';

/** A whole system of real processes on a database of its own, with an endpoint for it to deliver to. */
export interface System {
  readonly db: TestDatabase;
  readonly receiver: ScriptedReceiver;
  /** Trusted by the workers. */
  readonly authority: TestAuthority;
  readonly accountId: AccountId;
  /** An API key with all scopes and a high limit. */
  readonly apiKey: string;
  readonly processes: readonly SystemProcess[];
  start(name: ProcessName, env?: Readonly<Record<string, string>>): Promise<SystemProcess>;
  /** Starts these processes at the same time. @returns them in this order. */
  startAll<const Names extends readonly ProcessName[]>(
    names: Names,
  ): Promise<{ -readonly [Index in keyof Names]: SystemProcess }>;
  /**
   * Makes the running system fit for the next test: a new account and key, no other rows, and a receiver that has no
   * requests and answers 200 again. Waits first until no message and no delivery is outstanding.
   */
  reset(): Promise<void>;
  /** A webhook of the account that delivers to the receiver's path, or to any endpoint. */
  webhook(pathOrUrl: string, events?: Webhook['events']): Promise<{ id: WebhookId; signingSecret: string }>;
  /** Records events, one transaction each, as a cause would. @returns their ids. */
  record(count: number, subject?: string): Promise<string[]>;
  outstanding(): Promise<number>;
  /** Waits until no message waits for the provider. */
  mailSent(): Promise<void>;
  /** Waits until no delivery is outstanding. */
  drained(withinMs?: number): Promise<void>;
  close(): Promise<void>;
}

export interface SystemOptions {
  /** Absent: the queue is in Postgres. */
  readonly redisUrl?: string;
  /** Absent: a clone of the tests' template database. */
  readonly database?: TestDatabase;
  /** Of every process. */
  readonly env?: Readonly<Record<string, string>>;
}

export async function startSystem(options: SystemOptions = {}): Promise<System> {
  const directory = mkdtempSync(join(tmpdir(), 'postrider-e2e-'));
  const db = options.database ?? (await createTestDatabase());
  const authority = await createTestAuthority();
  const receiver = await startScriptedReceiver({ authority });
  const caFile = join(directory, 'ca.pem');
  writeFileSync(caFile, authority.caPem);
  const secretsKey = randomBytes(32);
  const database = openStore(db.url);
  const clock = { now: () => new Date() };
  let owner = await newOwner(database);
  const webhooks = createWebhookStore(database, createSecretBox([secretsKey]), clock);
  const environment = {
    DATABASE_URL: db.url,
    ...(options.redisUrl === undefined ? {} : { REDIS_URL: options.redisUrl }),
    QUEUE_PREFIX: `e2e-${randomBytes(4).toString('hex')}`,
    SECRETS_KEY: secretsKey.toString('base64'),
    NODE_EXTRA_CA_CERTS: caFile,
    NODE_ENV: 'test',
    DELIVERY_ALLOWED_NETWORKS: '127.0.0.1/32',
    SANDBOX_DIR: join(directory, 'sandbox'),
    BLOB_STORE: `file:${join(directory, 'blobs')}`,
    INBOUND_SMTP_PORT: '0',
    PORT: '0',
    METRICS_PORT: '0',
    ...options.env,
  };
  const processes: SystemProcess[] = [];

  async function start(name: ProcessName, env: Readonly<Record<string, string>> = {}) {
    const started = startProcess(name, { ...environment, ...env });
    processes.push(started);
    await started.port();
    return started;
  }

  return {
    db,
    receiver,
    authority,
    get accountId() {
      return owner.accountId;
    },
    get apiKey() {
      return owner.apiKey;
    },
    processes,
    start,
    async startAll(names) {
      const all = await Promise.all(names.map((name) => start(name)));
      return all as { -readonly [Index in keyof typeof names]: SystemProcess };
    },
    async reset() {
      await untilMailSent(db);
      await untilDrained(db);
      await createRows(db).clear();
      receiver.reset();
      owner = await newOwner(database);
    },
    async webhook(pathOrUrl, events = []) {
      const endpoint = pathOrUrl.startsWith('/') ? receiver.url(pathOrUrl) : pathOrUrl;
      const { webhook, signingSecret } = await newWebhook(webhooks, {
        accountId: owner.accountId,
        endpoint,
        events,
      });
      return { id: webhook.id, signingSecret };
    },
    record: (count, subject = 'e2e') => recordEvents(database, owner.accountId, count, subject),
    outstanding: () => countOutstanding(db),
    mailSent: () => untilMailSent(db),
    drained: (withinMs) => untilDrained(db, withinMs),
    async close() {
      await Promise.all(processes.filter((started) => started.running).map((started) => started.kill()));
      await database.close();
      await receiver.close();
      await db.drop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** A new account, with a key that may do everything. */
async function newOwner(database: Database): Promise<{ accountId: AccountId; apiKey: string }> {
  const clock = { now: () => new Date() };
  const { id: accountId } = await createAccountStore(database, clock).create('e2e');
  const { key: apiKey } = await createApiKeyStore(database, clock).create({
    accountId,
    kind: 'live',
    scopes: SCOPES,
    rateLimitPerMinute: 1_000_000,
  });
  return { accountId, apiKey };
}

function openStore(databaseUrl: string): Database {
  const connection = {
    databaseUrl,
    applicationName: 'e2e',
    // A test that stops Postgres or cuts connections expects this.
    onError: () => undefined,
  };
  const wakeUps = createWakeUps(connection);
  const database = openDatabase({ ...connection, size: 4 }, wakeUps);
  return {
    ...database,
    async close() {
      await wakeUps.close();
      await database.close();
    },
  };
}

async function recordEvents(
  database: Database,
  accountId: AccountId,
  count: number,
  subject: string,
): Promise<string[]> {
  const clock = { now: () => new Date() };
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const draft: EventDraft = {
      type: 'email.sent',
      accountId,
      data: { email_id: `em_${index}`, from: 'a@example.com', subject, error: null },
    };
    ids.push(await database.transactions.run((tx) => recordEvent(tx, draft, clock)));
  }
  return ids;
}

async function countOutstanding(db: TestDatabase): Promise<number> {
  const [row] = await db.query<{ n: number }>('select count(*)::int as n from deliveries');
  return row?.n ?? 0;
}

async function untilMailSent(db: TestDatabase): Promise<void> {
  await waitFor(async () => (await db.query('select from email_sends limit 1')).length === 0, {
    what: 'all mail to go',
  });
}

async function untilDrained(db: TestDatabase, timeoutMs = 60_000): Promise<void> {
  await waitFor(async () => (await countOutstanding(db)) === 0, { what: 'all deliveries to end', timeoutMs });
}
