import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startPostgres } from '@postrider/embedded';
import type { RunningPostgres } from '@postrider/embedded';
import { migrateQueueSchema } from '@postrider/queue';
import { migrate } from '@postrider/store';
import { Client, DatabaseError } from 'pg';

/** A private Postgres that writes durably, as in production, and may be killed. */
export interface PrivatePostgres {
  readonly port: number;
  readonly pid: number;
  /** A new database with every migration applied, and the table of causes. @returns its address. */
  createDatabase(): Promise<string>;
  dropDatabase(url: string): Promise<void>;
  /** SIGKILL to the postmaster; its children end with it. */
  kill(): void;
  /** Starts it again where it was, with crash recovery if it was killed. */
  start(): Promise<void>;
  /** Fast shutdown; the data stay, unless this is the end. */
  stop(): Promise<void>;
}

const TEMPLATE = 'torture_template';
const OBJECT_IN_USE = '55006';
const CLONE_TRIES = 100;
const CLONE_PAUSE_MS = 50;

/** What the producer writes in the transaction that records an event: the cause. */
const CAUSES = `
  create schema torture;
  create table torture.causes (id text primary key, event_id text not null);
`;

/** @param folder where the cluster may be made; it goes with this process. */
export async function startPrivatePostgres(folder: string): Promise<PrivatePostgres> {
  const dataDir = join(folder, `postgres-${randomBytes(4).toString('hex')}`);
  const start = (port?: number): Promise<RunningPostgres> =>
    startPostgres({ dataDir, durable: true, throwAway: true, ...(port === undefined ? {} : { port }) });
  let running = await start();
  const { port } = running;
  await createTemplate(running.url);
  return {
    port,
    get pid() {
      return running.pid;
    },
    async createDatabase() {
      const name = `torture_${randomBytes(6).toString('hex')}`;
      await cloneTemplate(running.url, name);
      return databaseUrl(running.url, name);
    },
    async dropDatabase(url) {
      const name = new URL(url).pathname.slice(1);
      await asAdmin(running.url, (client) => client.query(`drop database if exists ${name} with (force)`));
    },
    kill: () => running.kill('SIGKILL'),
    async start() {
      running = await start(port);
    },
    stop: () => running.stop(),
  };
}

async function createTemplate(adminUrl: string): Promise<void> {
  await asAdmin(adminUrl, (client) => client.query(`create database ${TEMPLATE}`));
  const url = databaseUrl(adminUrl, TEMPLATE);
  await migrate(url);
  await migrateQueueSchema(url);
  await asAdmin(url, (client) => client.query(CAUSES));
}

/** Postgres copies a database only while nobody, autovacuum included, is in it. */
async function cloneTemplate(adminUrl: string, name: string): Promise<void> {
  await asAdmin(adminUrl, async (client) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await client.query(`create database ${name} template ${TEMPLATE} strategy wal_log`);
        return;
      } catch (error) {
        const inUse = error instanceof DatabaseError && error.code === OBJECT_IN_USE;
        if (!inUse || attempt === CLONE_TRIES) throw error;
        await delay(CLONE_PAUSE_MS);
      }
    }
  });
}

async function asAdmin<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}
