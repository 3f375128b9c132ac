import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { startPostgres } from '@postrider/embedded';
import type { RunningPostgres } from '@postrider/embedded';
import { migrateQueueSchema } from '@postrider/queue';
import { migrate } from '@postrider/store';
import { cloneDatabase, databaseUrl, withClient } from '@postrider/testing';
import { putBackupBack, takeBackup } from './backup.ts';
import { createSteppedClock } from './faketime.ts';
import type { SteppedClock } from './faketime.ts';
import { mountSmallDisk } from './small-disk.ts';
import type { SmallDisk } from './small-disk.ts';

/** The extra parts of an experiment's own Postgres. */
export interface PostgresWish {
  /** A clock that can be stepped; see `lacksFaketime`. */
  readonly steppedClock?: boolean;
  /** A disk of this size for all its files, which can be filled; see `lacksSmallDisk`. */
  readonly diskMib?: number;
}

/** A private Postgres with durable commits, as in production. It may be killed. */
export interface PrivatePostgres {
  readonly port: number;
  readonly pid: number;
  /** @throws when the experiment has none */
  readonly clock: SteppedClock;
  /** @throws when the experiment has none */
  readonly disk: SmallDisk;
  /** A new database with every migration applied, and the table of causes. @returns its address. */
  createDatabase(): Promise<string>;
  dropDatabase(url: string): Promise<void>;
  /** Sends SIGKILL to the postmaster. Its children end, too. */
  kill(): void;
  /** Starts it again on its data, with crash recovery if needed. Does nothing when it runs. */
  start(): Promise<void>;
  /** Makes a base backup of the running server. */
  backUp(): Promise<void>;
  /** Sends SIGKILL and starts from the backup. Later writes are lost, and sequences repeat. */
  restore(): Promise<void>;
  /** Stops it, and removes its data, its clock and its disk. */
  stop(): Promise<void>;
}

const TEMPLATE = 'torture_template';

/** The producer writes a cause in the transaction that records its event. */
const CAUSES = `
  create schema torture;
  create table torture.causes (id text primary key, event_id text not null);
`;

/** @param folder the parent of the data directory. The server ends with this process. */
export async function startPrivatePostgres(
  folder: string,
  { steppedClock = false, diskMib }: PostgresWish = {},
): Promise<PrivatePostgres> {
  const clock = steppedClock ? createSteppedClock() : null;
  const disk = diskMib === undefined ? null : mountSmallDisk(diskMib);
  const dataDir = join(disk?.folder ?? folder, `postgres-${randomBytes(4).toString('hex')}`);
  const start = (port?: number): Promise<RunningPostgres> =>
    startPostgres({
      dataDir,
      durable: true,
      throwAway: true,
      ...(port === undefined ? {} : { port }),
      ...(clock === null ? {} : { environment: clock.environment }),
    });
  async function release(): Promise<void> {
    clock?.remove();
    await disk?.unmount();
  }

  let running: RunningPostgres;
  try {
    running = await start();
    await createTemplate(running.url);
  } catch (error) {
    await release();
    throw error;
  }
  const { port } = running;
  return {
    port,
    get pid() {
      return running.pid;
    },
    get clock() {
      return wishedFor(clock, 'a clock');
    },
    get disk() {
      return wishedFor(disk, 'a disk');
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
    backUp: () => takeBackup(running),
    async restore() {
      running.kill('SIGKILL');
      await putBackupBack(running);
      running = await start(port);
    },
    async stop() {
      try {
        await running.stop();
      } finally {
        await release();
      }
    },
  };
}

function wishedFor<T>(part: T | null, what: string): T {
  if (part === null)
    throw new Error(`this Postgres has not ${what} of its own: the experiment wished for none`);
  return part;
}

async function createTemplate(adminUrl: string): Promise<void> {
  await withClient(adminUrl, (client) => client.query(`create database ${TEMPLATE}`));
  const url = databaseUrl(adminUrl, TEMPLATE);
  await migrate(url);
  await migrateQueueSchema(url);
  await withClient(url, (client) => client.query(CAUSES));
}
