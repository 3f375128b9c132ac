import { randomBytes } from 'node:crypto';
import { startRedis } from '@postrider/embedded';
import type { RunningRedis } from '@postrider/embedded';
import { createSecretBox, newId, newSigningSecret } from '@postrider/domain';
import type { AccountId, SecretBox, WebhookId } from '@postrider/domain';
import { waitFor } from '@postrider/testing';
import { startBundle } from './bundle-process.ts';
import type { BundleProcess, ProductProcess } from './bundle-process.ts';
import type { BenchDatabase } from './cluster.ts';

/** What an `email.sent` event carries: some 400 bytes. */
export const EVENT_DATA = JSON.stringify({
  email_id: 'em_bench',
  from: 'a@example.com',
  subject: 'x'.repeat(300),
  error: null,
});

/** A body of a delivery's size, for the yardstick. */
export const BARE_BODY = `{"id":"evt_01ARZ3NDEKTSV4RRFFQ69G5FAV","type":"email.sent","subject":"acct_01ARZ3NDEKTSV4RRFFQ69G5FAV","created_at":"2026-01-01T00:00:00.000Z","data":${EVENT_DATA}}`;

/** Default: fresh events, due now. */
export interface QueueWish {
  /** Failed attempts that each has behind it. */
  readonly attempts: number;
  /** Due within this, evenly spread. */
  readonly dueWithinSeconds: number;
}

/** One installation of the product: a database and a Redis of its own, and the processes that are started on them. */
export interface Installation {
  readonly database: BenchDatabase;
  readonly redis: RunningRedis;
  readonly processes: readonly BundleProcess[];
  start(name: ProductProcess, env?: Readonly<Record<string, string>>): Promise<BundleProcess>;
  /** Ends every process. Gently: by SIGTERM, so that what is in hand is finished; else by SIGKILL. */
  stopAll(how: 'gently' | 'at once'): Promise<void>;
  addAccount(): Promise<AccountId>;
  /** One webhook for each endpoint, with a real sealed secret. */
  addWebhooks(accountId: AccountId, endpoints: readonly string[]): Promise<WebhookId[]>;
  /** Queues events in one transaction, dealt out to the webhooks in turn, and wakes the relay. */
  queue(webhooks: readonly WebhookId[], count: number, wish?: QueueWish): Promise<void>;
  /** Waits until nothing that is due is outstanding for these webhooks. */
  drained(webhooks: readonly WebhookId[]): Promise<void>;
  /** Ends all of it; a figure that has done with it need not wait for its own end. */
  close(): Promise<void>;
}

export interface InstallationOptions {
  readonly database: BenchDatabase;
  readonly bundles: string;
  readonly folder: string;
  readonly caFile: string;
  readonly profileFolder: string | null;
}

const FRESH: QueueWish = { attempts: 0, dueWithinSeconds: 0 };
const DRAINED_TIMEOUT_MS = 60_000;

export async function createInstallation(options: InstallationOptions): Promise<Installation> {
  const { database, folder } = options;
  const redis = await startRedis();
  const secretsKey = randomBytes(32);
  const secrets = createSecretBox([secretsKey]);
  const environment = {
    DATABASE_URL: database.productUrl,
    REDIS_URL: redis.url,
    SECRETS_KEY: secretsKey.toString('base64'),
    NODE_EXTRA_CA_CERTS: options.caFile,
    NODE_ENV: 'test',
    DELIVERY_ALLOWED_NETWORKS: '127.0.0.0/8',
    SANDBOX_DIR: `${folder}/sandbox`,
    PORT: '0',
    METRICS_PORT: '0',
    INBOUND_SMTP_PORT: '0',
  };
  let processes: BundleProcess[] = [];

  async function stopAll(how: 'gently' | 'at once'): Promise<void> {
    const running = processes;
    processes = [];
    // A profile is written at the end of a process that is stopped, not of one that is killed.
    const gently = how === 'gently' || options.profileFolder !== null;
    await Promise.all(running.map((started) => (gently ? started.stop() : started.kill())));
  }

  let closing: Promise<void> | null = null;
  async function close(): Promise<void> {
    await stopAll('at once');
    await redis.stop();
    await database.drop();
  }

  return {
    database,
    redis,
    get processes() {
      return processes;
    },
    async start(name, env = {}) {
      const started = await startBundle(name, { ...options, env: { ...environment, ...env } });
      processes.push(started);
      return started;
    },
    stopAll,
    addAccount: () => addAccount(database),
    addWebhooks: (accountId, endpoints) => addWebhooks(database, secrets, accountId, endpoints),
    queue: (webhooks, count, wish = FRESH) => queueEvents(database, webhooks, count, wish),
    async drained(webhooks) {
      await waitFor(async () => !(await isOutstanding(database, webhooks)), {
        what: 'what is due to end',
        timeoutMs: DRAINED_TIMEOUT_MS,
      });
    },
    close: () => (closing ??= close()),
  };
}

const clock = { now: () => new Date() };

async function addAccount(database: BenchDatabase): Promise<AccountId> {
  const id = newId('account', clock);
  await database.query(`insert into accounts (id, name) values ($1, 'bench')`, [id]);
  return id;
}

async function addWebhooks(
  database: BenchDatabase,
  secrets: SecretBox,
  accountId: AccountId,
  endpoints: readonly string[],
): Promise<WebhookId[]> {
  const ids = endpoints.map(() => newId('webhook', clock));
  const sealed = ids.map((id) => secrets.seal(newSigningSecret(), id));
  await database.query(
    `insert into webhooks (id, account_id, endpoint, secret_key_id, secret_sealed)
     select w.id, $1, w.endpoint, w.key_id, w.sealed
     from unnest($2::text[], $3::text[], $4::text[], $5::bytea[]) w (id, endpoint, key_id, sealed)`,
    [
      accountId,
      ids,
      endpoints,
      sealed.map(({ keyId }) => keyId),
      sealed.map((one) => Buffer.from(one.sealed)),
    ],
  );
  return ids;
}

async function queueEvents(
  database: BenchDatabase,
  webhooks: readonly WebhookId[],
  count: number,
  { attempts, dueWithinSeconds }: QueueWish,
): Promise<void> {
  await database.query(
    `with dealt as materialized (
       select w.id as webhook_id, w.account_id, n
       from generate_series(1, $2::int) n
       join unnest($1::text[]) with ordinality u (id, place) on u.place = 1 + n % cardinality($1::text[])
       join webhooks w on w.id = u.id
     ),
     recorded as (
       insert into events (id, account_id, type, created_at, data)
       select 'evt_' || txid_current() || '_' || n, account_id, 'email.sent', now(), $3 from dealt
     )
     insert into deliveries (event_id, webhook_id, attempts, due_at)
     select 'evt_' || txid_current() || '_' || n, webhook_id, $4, now() + make_interval(secs => $5::float8 * n / $2)
     from dealt order by n`,
    [webhooks, count, EVENT_DATA, attempts, dueWithinSeconds],
  );
  await database.query(`select pg_notify('postrider_wake', $1)`, [
    webhooks.length > 200 ? '*' : webhooks.join(','),
  ]);
}

/** By the index over webhook and due time: the look must cost nothing, whatever else is outstanding. */
async function isOutstanding(database: BenchDatabase, webhooks: readonly WebhookId[]): Promise<boolean> {
  const [row] = await database.query<{ some: boolean }>(
    `select exists (
       select from unnest($1::text[]) w (id), lateral (
         select from deliveries d where d.webhook_id = w.id and d.due_at <= now() limit 1
       ) due
     ) as some`,
    [webhooks],
  );
  return row?.some === true;
}
