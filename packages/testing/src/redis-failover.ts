import { rmSync } from 'node:fs';
import { startRedis } from '@postrider/embedded';
import type { RunningRedis } from '@postrider/embedded';
import { Redis } from 'ioredis';
import { startFaultProxy } from './proxy/fault-proxy.ts';
import { waitFor } from './wait-for.ts';

/** Two Redis servers behind one address, which leads to the first. Changes of the roles keep connections. */
export interface RedisFailover {
  /** The address that moves. */
  readonly url: string;
  /** Makes the first server a replica of the second. Only its answers show it. */
  demote(): Promise<void>;
  /** Like `demote`, and the new replica answers LOADING for 100 s, longer than a test may take. */
  demoteLoading(): Promise<void>;
  /** The first server stays a primary. It refuses writes because it has no replica. */
  loseReplicas(): Promise<void>;
  /** The first server stays a primary. It refuses writes because it cannot save its data. */
  failToSave(): Promise<void>;
  /** Resolves when a client has connected to the first server since it was harmed. */
  reconnected(): Promise<void>;
  /** Leads new connections to the second server. */
  move(): void;
  close(): Promise<void>;
}

/** A replica loads 100 keys per second. */
const BALLAST_KEYS = 10_000;
const KEY_LOAD_DELAY_MICROSECONDS = '10000';

export async function startRedisFailover(): Promise<RedisFailover> {
  const [demoted, promoted] = await Promise.all([startRedis(), startRedis()]);
  const line = await startFaultProxy(demoted.url);
  let connectionsBefore = 0;

  async function demote(): Promise<void> {
    connectionsBefore = line.accepted;
    await ask(demoted, 'REPLICAOF', '127.0.0.1', String(promoted.port));
  }

  return {
    url: line.url(demoted.url),
    demote,
    async demoteLoading() {
      const ballast = Array.from({ length: BALLAST_KEYS }, (_, n) => [`ballast:${n}`, 'x']).flat();
      await ask(promoted, 'MSET', ...ballast);
      await ask(promoted, 'CONFIG', 'SET', 'repl-diskless-sync-delay', '0');
      // It answers only between chunks of this size.
      await ask(demoted, 'CONFIG', 'SET', 'loading-process-events-interval-bytes', '1024');
      await ask(demoted, 'CONFIG', 'SET', 'key-load-delay', KEY_LOAD_DELAY_MICROSECONDS);
      await demote();
      await waitFor(async () => numberInInfo(await ask(demoted, 'INFO'), 'loading') === 1, {
        what: 'the server to load',
      });
    },
    async loseReplicas() {
      connectionsBefore = line.accepted;
      await ask(demoted, 'CONFIG', 'SET', 'min-replicas-to-write', '1');
    },
    async failToSave() {
      connectionsBefore = line.accepted;
      const [, folder] = (await ask(demoted, 'CONFIG', 'GET', 'dir')) as [string, string];
      rmSync(folder, { recursive: true });
      await ask(demoted, 'CONFIG', 'SET', 'save', '3600 1');
      await ask(demoted, 'BGSAVE');
      const failed = async () => String(await ask(demoted, 'INFO')).includes('rdb_last_bgsave_status:err');
      await waitFor(failed, { what: 'the server to fail to save' });
    },
    reconnected: () =>
      waitFor(() => line.accepted > connectionsBefore, { what: 'a new connection' }).then(() => undefined),
    move: () => line.moveTo(promoted.port),
    async close() {
      await line.close();
      await Promise.all([demoted.stop(), promoted.stop()]);
    },
  };
}

async function ask({ port }: RunningRedis, ...words: [string, ...string[]]): Promise<unknown> {
  const client = new Redis(port, { enableReadyCheck: false });
  try {
    return await client.call(...words);
  } finally {
    client.disconnect();
  }
}

/** A number in the answer to INFO, such as `used_memory`. @throws when there is none */
export function numberInInfo(info: unknown, field: string): number {
  const [, number] = new RegExp(`^${field}:(\\d+)`, 'm').exec(String(info)) ?? [];
  if (number === undefined) throw new Error(`Redis does not tell its ${field}`);
  return Number(number);
}
