import { rmSync } from 'node:fs';
import { startRedis } from '@postrider/embedded';
import type { RunningRedis } from '@postrider/embedded';
import { Redis } from 'ioredis';
import { startFaultProxy } from './proxy/fault-proxy.ts';
import { waitFor } from './wait-for.ts';

/** Two Redis servers behind one address, which leads to the first. A change of roles closes no connection. */
export interface RedisFailover {
  /** The address that moves. */
  readonly url: string;
  /** Makes the first server a replica of the second. A client learns it only from answers. */
  demote(): Promise<void>;
  /** Like `demote`, and the new replica answers LOADING for 100 s, longer than a test may take. */
  demoteLoading(): Promise<void>;
  /** The first server stays a primary. It refuses writes because it has no replica. */
  loseReplicas(): Promise<void>;
  /** The first server stays a primary. It refuses writes because it cannot save its data. */
  failToSave(): Promise<void>;
  /** Resolves when a client has connected to the first server after its last fault. */
  reconnected(): Promise<void>;
  /** Leads new connections to the second server. */
  move(): void;
  close(): Promise<void>;
}

/** A replica loads 100 keys per second, so 100 s. */
const BALLAST_KEYS = 10_000;
const KEY_LOAD_DELAY_MICROSECONDS = '10000';

export async function startRedisFailover(): Promise<RedisFailover> {
  const [first, second] = await Promise.all([startRedis(), startRedis()]);
  const proxy = await startFaultProxy(first.url);
  let connectionsBefore = 0;

  async function demote(): Promise<void> {
    connectionsBefore = proxy.accepted;
    await ask(first, 'REPLICAOF', '127.0.0.1', String(second.port));
  }

  return {
    url: proxy.url(first.url),
    demote,
    async demoteLoading() {
      const ballast = Array.from({ length: BALLAST_KEYS }, (_, n) => [`ballast:${n}`, 'x']).flat();
      await ask(second, 'MSET', ...ballast);
      await ask(second, 'CONFIG', 'SET', 'repl-diskless-sync-delay', '0');
      // A server that loads answers only between chunks of this size.
      await ask(first, 'CONFIG', 'SET', 'loading-process-events-interval-bytes', '1024');
      await ask(first, 'CONFIG', 'SET', 'key-load-delay', KEY_LOAD_DELAY_MICROSECONDS);
      await demote();
      await waitFor(async () => numberInInfo(await ask(first, 'INFO'), 'loading') === 1, {
        what: 'the server to load',
      });
    },
    async loseReplicas() {
      connectionsBefore = proxy.accepted;
      await ask(first, 'CONFIG', 'SET', 'min-replicas-to-write', '1');
    },
    async failToSave() {
      connectionsBefore = proxy.accepted;
      const [, folder] = (await ask(first, 'CONFIG', 'GET', 'dir')) as [string, string];
      rmSync(folder, { recursive: true });
      await ask(first, 'CONFIG', 'SET', 'save', '3600 1');
      await ask(first, 'BGSAVE');
      const failed = async () => String(await ask(first, 'INFO')).includes('rdb_last_bgsave_status:err');
      await waitFor(failed, { what: 'the server to fail to save' });
    },
    reconnected: () =>
      waitFor(() => proxy.accepted > connectionsBefore, { what: 'a new connection' }).then(() => undefined),
    move: () => proxy.moveTo(second.port),
    async close() {
      await proxy.close();
      await Promise.all([first.stop(), second.stop()]);
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
