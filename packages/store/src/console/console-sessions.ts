import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import { statement } from '../db/statement.ts';

/** The user who signed in, and the SHA-256 of the user's key. */
interface ConsoleSession {
  readonly userName: string;
  readonly keyDigest: Buffer;
}

const OPEN = statement('open-console-session')`
    insert into console_sessions (token_digest, user_name, key_digest, expires_at)
    values ($1, $2, $3, now() + make_interval(hours => $4))`;

const FIND = statement('find-console-session')`
    select user_name as "userName", key_digest as "keyDigest" from console_sessions
    where token_digest = $1 and expires_at > now()`;

const CLOSE = statement('close-console-session')`delete from console_sessions where token_digest = $1`;

export type ConsoleSessionStore = ReturnType<typeof createConsoleSessions>;

/** The sessions of the console. A session is found by a secret token; only its digest is stored. */
export function createConsoleSessions({ pool }: { readonly pool: Pool }) {
  return {
    async open(token: string, { userName, keyDigest }: ConsoleSession, hours: number): Promise<void> {
      await runOn(pool, OPEN, [digestOf(token), userName, keyDigest, hours]);
    },
    /** @returns null when the session is unknown, closed or too old. */
    async find(token: string): Promise<ConsoleSession | null> {
      const [session] = await runOn<ConsoleSession>(pool, FIND, [digestOf(token)]);
      return session ?? null;
    },
    async close(token: string): Promise<void> {
      await runOn(pool, CLOSE, [digestOf(token)]);
    },
  };
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
