import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSecretBox, recordEvent } from '@postrider/domain';
import type { AccountId, EventDraft, WebhookId } from '@postrider/domain';
import { createWebhookStore } from '@postrider/store';
import type { Database, Webhook } from '@postrider/store';
import {
  createRows,
  createTestAuthority,
  createTestDatabase,
  newWebhook,
  startProcess,
  startScriptedReceiver,
  systemClock,
  systemEnvironment,
  waitFor,
} from '@postrider/testing';
import type {
  ProcessName,
  ScriptedReceiver,
  SystemProcess,
  TestAuthority,
  TestDatabase,
} from '@postrider/testing';
import { newOwner, openStore } from './open-store.ts';

/** Real processes on a database of their own, and an endpoint that they deliver to. */
export interface System {
  readonly db: TestDatabase;
  readonly receiver: ScriptedReceiver;
  /** The workers trust it. */
  readonly authority: TestAuthority;
  readonly accountId: AccountId;
  /** An API key with all scopes and a high limit. */
  readonly apiKey: string;
  readonly processes: readonly SystemProcess[];
  /** Holds the sandbox's mail in `sandbox`. */
  readonly directory: string;
  start(name: ProcessName, env?: Readonly<Record<string, string>>): Promise<SystemProcess>;
  /** Starts these processes at the same time. @returns them in this order. */
  startAll<const Names extends readonly ProcessName[]>(
    names: Names,
  ): Promise<{ -readonly [Index in keyof Names]: SystemProcess }>;
  /**
   * Prepares the running system for the next test. Waits until no message and no delivery is outstanding.
   * Then removes all rows, makes a new account and key, and resets the receiver.
   */
  reset(): Promise<void>;
  /** A webhook of the account that delivers to the receiver's path, or to any endpoint. */
  webhook(pathOrUrl: string, events?: Webhook['events']): Promise<{ id: WebhookId; signingSecret: string }>;
  /** A webhook of a new account, for `email.bounced`, that delivers to the receiver's path. */
  webhookOfOtherAccount(path: string): Promise<WebhookId>;
  /** Records events, one transaction each. @returns their ids. */
  record(count: number, subject?: string): Promise<string[]>;
  outstanding(): Promise<number>;
  /** Waits until no message waits for the provider. */
  mailSent(): Promise<void>;
  /** Waits until no delivery is outstanding. */
  drained(withinMs?: number): Promise<void>;
  close(): Promise<void>;
}

export interface SystemOptions {
  /** Unset: the queue is in Postgres. */
  readonly redisUrl?: string;
  /** Unset: a clone of the tests' template database. */
  readonly database?: TestDatabase;
  /** Added to the environment of every process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The code of Postgres for a deadlock. */
const DEADLOCK = '40P01';

export async function startSystem(options: SystemOptions = {}): Promise<System> {
  const directory = mkdtempSync(join(tmpdir(), 'postrider-e2e-'));
  const db = options.database ?? (await createTestDatabase());
  const authority = await createTestAuthority();
  const receiver = await startScriptedReceiver({ authority });
  const caFile = join(directory, 'ca.pem');
  writeFileSync(caFile, authority.caPem);
  const secretsKey = randomBytes(32);
  const store = openStore(db.url);
  const { database } = store;
  let owner = await newOwner(database);
  const webhooks = createWebhookStore(database, createSecretBox([secretsKey]), systemClock);
  const environment = {
    ...systemEnvironment({ folder: directory, caFile, secretsKey }),
    DATABASE_URL: db.url,
    ...(options.redisUrl === undefined ? {} : { REDIS_URL: options.redisUrl }),
    QUEUE_PREFIX: `e2e-${randomBytes(4).toString('hex')}`,
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
    directory,
    start,
    async startAll(names) {
      const all = await Promise.all(names.map((name) => start(name)));
      return all as { -readonly [Index in keyof typeof names]: SystemProcess };
    },
    async reset() {
      await Promise.all(processes.map(untilStarted));
      await untilMailSent(db);
      await untilDrained(db);
      await clearRows(db);
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
    async webhookOfOtherAccount(path) {
      const accountId = await createRows(db).account();
      const endpoint = receiver.url(path);
      const { webhook } = await newWebhook(webhooks, { accountId, endpoint, events: ['email.bounced'] });
      return webhook.id;
    },
    record: (count, subject = 'e2e') => recordEvents(database, owner.accountId, count, subject),
    outstanding: () => countOutstanding(db),
    mailSent: () => untilMailSent(db),
    drained: (withinMs) => untilDrained(db, withinMs),
    async close() {
      await Promise.all(processes.filter((started) => started.running).map((started) => started.kill()));
      await store.close();
      await receiver.close();
      await db.drop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Waits for the end of the start. Until then the process writes rows and reads them back. */
export async function untilStarted(started: SystemProcess): Promise<void> {
  const isStarted = () => !started.running || started.log.some(({ msg }) => msg === 'started');
  await waitFor(isStarted, { what: `${started.name} to start` });
}

async function recordEvents(
  database: Database,
  accountId: AccountId,
  count: number,
  subject: string,
): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const draft: EventDraft = {
      type: 'email.sent',
      accountId,
      data: { email_id: `em_${index}`, from: 'a@example.com', subject, error: null },
    };
    ids.push(await database.transactions.run((tx) => recordEvent(tx, draft, systemClock)));
  }
  return ids;
}

async function countOutstanding(db: TestDatabase): Promise<number> {
  const [row] = await db.query<{ n: number }>('select count(*)::int as n from deliveries');
  return row?.n ?? 0;
}

/** Removes all rows. Tries again after a deadlock, because the running processes write meanwhile. */
async function clearRows(db: TestDatabase): Promise<void> {
  for (;;) {
    try {
      await createRows(db).clear();
      return;
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== DEADLOCK) throw error;
    }
  }
}

async function untilMailSent(db: TestDatabase): Promise<void> {
  await waitFor(async () => (await db.query('select from email_sends limit 1')).length === 0, {
    what: 'all mail to go',
  });
}

async function untilDrained(db: TestDatabase, timeoutMs = 60_000): Promise<void> {
  await waitFor(async () => (await countOutstanding(db)) === 0, { what: 'all deliveries to end', timeoutMs });
}
