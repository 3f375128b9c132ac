import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { startPostgres } from '@postrider/embedded';
import type { RunningPostgres } from '@postrider/embedded';
import { migrateQueueSchema } from '@postrider/queue';
import { migrate } from '@postrider/store';
import { cloneDatabase, databaseUrl, withClient } from '@postrider/testing';

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
      await cloneDatabase(running.url, name, TEMPLATE);
      return databaseUrl(running.url, name);
    },
    async dropDatabase(url) {
      const name = new URL(url).pathname.slice(1);
      await withClient(running.url, (client) => client.query(`drop database if exists ${name} with (force)`));
    },
    kill: () => running.kill('SIGKILL'),
    async start() {
      running = await start(port);
    },
    stop: () => running.stop(),
  };
}

async function createTemplate(adminUrl: string): Promise<void> {
  await withClient(adminUrl, (client) => client.query(`create database ${TEMPLATE}`));
  const url = databaseUrl(adminUrl, TEMPLATE);
  await migrate(url);
  await migrateQueueSchema(url);
  await withClient(url, (client) => client.query(CAUSES));
}
