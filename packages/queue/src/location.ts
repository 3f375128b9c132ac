import type { QueueLocation } from './connection.ts';
import { queueSchemaIsCurrent } from './migrate.ts';

/** Redis if configured, else the database. */
export function queueLocation(config: {
  readonly redisUrl: string | undefined;
  readonly queuePrefix: string;
  readonly databaseUrl: string;
}): QueueLocation {
  return config.redisUrl === undefined
    ? { kind: 'postgres', databaseUrl: config.databaseUrl }
    : { kind: 'redis', redisUrl: config.redisUrl, prefix: config.queuePrefix };
}

/**
 * @throws Error with the command to run, when the queues are on Postgres and their tables are missing or old.
 */
export async function requireQueueSchema(location: QueueLocation): Promise<void> {
  if (location.kind === 'postgres' && !(await queueSchemaIsCurrent(location.databaseUrl))) {
    throw new Error('the queue has no tables in this database, or old ones; run `npm run migrate` first');
  }
}
