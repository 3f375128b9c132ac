import { z } from 'zod';

/** A file in the data directory of `npm start`. It describes the running system. */
export const RUNNING_FILE = 'running.json';

/** The part of `RUNNING_FILE` that other programs read: the servers that `npm start` uses. */
export const localServers = z.object({
  /** The embedded Postgres; null before its start, or when DATABASE_URL names another Postgres. */
  postgres: z.object({ pid: z.number(), url: z.string() }).readonly().nullable(),
  /** Null before the start of Redis, or when the queue is in Postgres. */
  redisUrl: z.string().nullable(),
});

export type LocalServers = Readonly<z.infer<typeof localServers>>;
