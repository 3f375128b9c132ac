import { randomUUID } from 'node:crypto';
import type { QueueIdentity, RunningWorker } from '@postrider/store';
import { connectRedis } from './connection.ts';
import type { QueueLocation } from './connection.ts';

/** A queue in Postgres is in the same database as the table `workers`. So one fixed id is enough. */
const IN_POSTGRES: QueueIdentity = { kind: 'postgres', prefix: '', id: 'postgres' };

/** Opens a reader of the queue's identity. On Redis, `read` also shows that Redis accepts writes. */
export function openQueueIdentity(location: QueueLocation, onError: (error: Error) => void) {
  if (location.kind === 'postgres') {
    return { last: () => IN_POSTGRES, read: async () => IN_POSTGRES, close: () => undefined };
  }
  const { redisUrl, prefix } = location;
  const redis = connectRedis(redisUrl, 'producer', onError);
  const key = `{${prefix}}:id`;
  let last: QueueIdentity = { kind: 'redis', prefix, id: null };
  /** The first connection has succeeded or failed. */
  const firstTry = new Promise<unknown>((resolve) => {
    for (const event of ['ready', 'error', 'close'] as const) redis.once(event, resolve);
  });
  return {
    /** The result of the last read. */
    last: (): QueueIdentity => last,
    /** The first reader makes the id. It changes when Redis is emptied. */
    async read(): Promise<QueueIdentity> {
      await firstTry;
      try {
        await redis.set(key, randomUUID(), 'NX');
        last = { ...last, id: await redis.get(key) };
        return last;
      } catch (error) {
        last = { ...last, id: null };
        throw error;
      }
    },
    close: (): void => redis.disconnect(),
  };
}

/** Names a queue in the log and in the output of commands. */
export function queueInWords({ kind, prefix, id }: QueueIdentity): string {
  if (kind === 'postgres') return 'Postgres';
  return `Redis (prefix ${prefix}, ${id === null ? 'not reachable' : `id ${id}`})`;
}

/** Names each of these queues once. */
export function queuesInWords(queues: readonly QueueIdentity[]): string[] {
  return [...new Set(queues.map(queueInWords))];
}

/**
 * The fault that workers run, and none takes jobs from this queue.
 *
 * @returns null when one does, or when none runs
 */
export function workersElsewhere(own: QueueIdentity, workers: readonly RunningWorker[]): string | null {
  if (workers.length === 0) return null;
  if (workers.some(({ queue }) => queue.id === own.id)) return null;
  const names = queuesInWords(workers.map(({ queue }) => queue)).join(', ');
  return `no worker takes jobs from the queue in ${queueInWords(own)}: the workers use ${names}`;
}
