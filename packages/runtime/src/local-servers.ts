import { z } from 'zod';

/** A file in the data directory of `npm start`. It describes the running system. */
export const RUNNING_FILE = 'running.json';

/** The part of the file that other programs read: the servers that `npm start` uses. */
export const localServers = z.object({
  /** The embedded Postgres; null when DATABASE_URL names another. */
  postgres: z.object({ pid: z.number(), url: z.string() }).readonly().nullable(),
  redisUrl: z.string().nullable(),
});

export type LocalServers = Readonly<z.infer<typeof localServers>>;
