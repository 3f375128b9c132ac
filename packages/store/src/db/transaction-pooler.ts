import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { holdersOf, LOCK_CLASSES } from './advisory-locks.ts';
import { mappingUnavailable } from './errors.ts';
import { SessionClient } from './session.ts';

/** Taken in shared mode, so that processes which start together do not wait for each other. */
const LOCK = `select pg_catalog.pg_advisory_lock_shared(${LOCK_CLASSES.poolerCheck}, 0), pg_catalog.pg_backend_pid() as pid`;
const LOOK = `
  select pg_catalog.pg_backend_pid() as pid,
         exists (select ${holdersOf(LOCK_CLASSES.poolerCheck, 0)} and l.pid = $1::int) as held`;
/** The server releases the lock milliseconds after its session ends. Only a refusal waits this long. */
const RELEASE_TIMEOUT_MS = 5_000;
const RELEASE_POLL_MS = 5;
const ANSWER_TIMEOUT_MS = 10_000;

/**
 * Refuses a pooler that gives a server's session to another client after each transaction. An advisory lock
 * of a session shows this, whatever the pool's size and order: without such a pooler, it lasts exactly as
 * long as its client is connected.
 *
 * The connections are not prepared: through such a pooler, our settings would reach other clients.
 *
 * @throws Error that names the remedy.
 * @throws StoreUnavailableError when Postgres does not answer.
 */
export async function refuseTransactionPooler(
  databaseUrl: string,
  releaseTimeoutMs = RELEASE_TIMEOUT_MS,
): Promise<void> {
  await mappingUnavailable(() => check(databaseUrl, releaseTimeoutMs));
}

async function check(databaseUrl: string, releaseTimeoutMs: number): Promise<void> {
  const pid = await connected(databaseUrl, async (client) => {
    const { rows } = await client.query<{ pid: number }>(LOCK);
    const lockerPid = rows[0]?.pid ?? 0;
    const seen = await look(client, lockerPid);
    return seen.pid === lockerPid && seen.held ? lockerPid : null;
  });
  if (pid === null) throw refusal();
  await connected(databaseUrl, async (client) => {
    const beganAtMs = performance.now();
    while ((await look(client, pid)).held) {
      if (performance.now() - beganAtMs > releaseTimeoutMs) throw refusal();
      await delay(RELEASE_POLL_MS);
    }
  });
}

async function look(client: Client, pid: number): Promise<{ pid: number; held: boolean }> {
  const { rows } = await client.query<{ pid: number; held: boolean }>(LOOK, [pid]);
  return rows[0] ?? { pid: 0, held: false };
}

async function connected<T>(databaseUrl: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new SessionClient({
    connectionString: databaseUrl,
    application_name: 'postrider-check',
    connectionTimeoutMillis: ANSWER_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end();
  }
}

function refusal(): Error {
  return new Error(
    'the pooler before Postgres shares sessions between clients (transaction mode): use session mode and its server_reset_query, or connect directly',
  );
}
