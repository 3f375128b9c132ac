import type { QueueLocation } from './connection.ts';
import { queueSchemaIsCurrent } from './migrate.ts';

/** Redis when there is one, else the database itself. */
export function queueLocation(config: {
  readonly redisUrl: string | undefined;
  readonly queuePrefix: string;
  readonly databaseUrl: string;
}): QueueLocation {
  return config.redisUrl === undefined
    ? { kind: 'postgres', databaseUrl: config.databaseUrl }
    : { kind: 'redis', redisUrl: config.redisUrl, prefix: config.queuePrefix };
}

/** @throws Error naming the remedy when the queues live in Postgres and their tables are missing or old. */
export async function requireQueueSchema(location: QueueLocation): Promise<void> {
  if (location.kind === 'postgres' && !(await queueSchemaIsCurrent(location.databaseUrl))) {
    throw new Error('the queue has no tables in this database, or old ones; run `npm run migrate` first');
  }
}
