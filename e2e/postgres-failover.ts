import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRunning, startPostgres } from '@postrider/embedded';
import type { RunningPostgres } from '@postrider/embedded';
import { migrateQueueSchema } from '@postrider/queue';
import { migrate } from '@postrider/store';
import { startFaultProxy, waitFor, withClient } from '@postrider/testing';
import { takeBackup } from './torture/harness/servers/backup.ts';

/** Two Postgres servers behind one address, which leads to the first. The second streams from the first. */
export interface PostgresFailover {
  /** The address that moves. */
  readonly url: string;
  /** The first server's own address. */
  readonly firstUrl: string;
  /** The second server's own address. */
  readonly secondUrl: string;
  /** Connections that the moving address has accepted so far. */
  readonly accepted: number;
  /** The second server becomes the primary. The first one comes back at its port, and only reads old rows. */
  switchOver(): Promise<void>;
  /** Leads new connections to the second server. Open ones stay. */
  move(): void;
  close(): Promise<void>;
}

const COMMON = { durable: false, throwAway: true } as const;

/** Starts the servers with migrated tables. */
export async function startPostgresFailover(): Promise<PostgresFailover> {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-failover-'));
  let first = await startPostgres({ ...COMMON, dataDir: join(folder, 'first') });
  await migrate(first.url);
  await migrateQueueSchema(first.url);
  await takeBackup(first);
  const copied = `${first.dataDir}.backup`;
  copyFileSync(`${first.dataDir}.password`, `${copied}.password`);
  const second = await startStandby(copied, { primary_conninfo: first.url });
  await waitFor(async () => (await one(first, 'select state from pg_stat_replication')) === 'streaming', {
    what: 'the standby to stream',
  });
  const address = await startFaultProxy(first.url);
  return {
    url: address.url(first.url),
    firstUrl: first.url,
    secondUrl: second.url,
    get accepted() {
      return address.accepted;
    },
    async switchOver() {
      first.kill('SIGINT'); // it sends everything to the standby before it ends
      await waitFor(() => !isRunning(first.pid), { what: 'the first server to end' });
      await one(second, 'select pg_promote()');
      first = await startStandby(first.dataDir, {}, first.port);
    },
    move: () => address.moveTo(second.port),
    async close() {
      await address.close();
      await Promise.all([first.stop(), second.stop()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** @param settings without `primary_conninfo` the standby follows no server */
async function startStandby(
  dataDir: string,
  settings: Readonly<Record<string, string>>,
  port = 0,
): Promise<RunningPostgres> {
  writeFileSync(join(dataDir, 'standby.signal'), '');
  return startPostgres({ ...COMMON, dataDir, port, settings });
}

/** The only value of the only row. */
async function one({ url }: RunningPostgres, sql: string): Promise<unknown> {
  const { rows } = await withClient(url, (client) => client.query<Record<string, unknown>>(sql));
  return Object.values(rows[0] ?? {})[0];
}
