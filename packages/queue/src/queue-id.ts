import { randomUUID } from 'node:crypto';
import { connectRedis } from './connection.ts';
import type { QueueLocation } from './connection.ts';

/**
 * Opens a reader of the id that is kept inside the queue. Processes that read the same id share the queue. The
 * queue in Postgres needs none: the database names it. On Redis, a read also shows that Redis accepts writes.
 */
export function openQueueId(location: QueueLocation, onError: (error: Error) => void) {
  if (location.kind === 'postgres') return { read: async () => '', close: () => undefined };
  const redis = connectRedis(location.redisUrl, 'producer', onError);
  const key = `{${location.prefix}}:id`;
  return {
    /** The first reader makes the id. It changes when Redis is emptied. */
    async read(): Promise<string> {
      await redis.set(key, randomUUID(), 'NX');
      return String(await redis.get(key));
    },
    close: (): void => redis.disconnect(),
  };
}
