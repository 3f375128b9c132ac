import { Client } from 'pg';
import type { ClientBase, ClientConfig } from 'pg';

/** Values of Postgres settings, by name. */
export type SessionSettings = Readonly<Record<string, string>>;

/**
 * A server, a database or a role may set other defaults. Our SQL, Prisma and the driver depend on these
 * values.
 */
const PINNED: SessionSettings = {
  timezone: 'UTC', // Prisma's adapter drops the offset of a timestamptz, and writes none
  datestyle: 'ISO, MDY', // the driver reads no other style
  intervalstyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
  array_nulls: 'on',
  transform_null_equals: 'off',
  search_path: 'public', // by default, a schema with the name of the role comes first
  // A statement that waited for a lock must see what the lock's last holder committed.
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  synchronous_commit: 'on',
  statement_timeout: '0',
  transaction_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  idle_session_timeout: '0',
  jit: 'off', // compiling a short statement takes far longer than running it
};

/**
 * Skips a setting that this Postgres lacks. Without `synchronous_commit`, a crash of Postgres would lose what
 * an answer has promised; an operator's choice between the other values stays. All names are qualified,
 * because the search path is not pinned yet.
 */
const PIN = `
  select pg_catalog.set_config(name, value, false)
  from pg_catalog.jsonb_each_text($1) as pin (name, value)
  where pg_catalog.current_setting(name, true) is not null
    and (value <> 'on' or name <> 'synchronous_commit' or pg_catalog.current_setting(name, true) = 'off')`;

/** A server that accepts the connection and does not answer is an error. */
const ANSWER_TIMEOUT_MS = 5_000;

/** Opens a connection outside a pool. It has no time limit for a statement. */
export async function openSession(config: ClientConfig): Promise<Client> {
  const client = new Client({ connectionTimeoutMillis: ANSWER_TIMEOUT_MS, ...config });
  // An error between two statements has no listener. The next statement fails and reports it.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await prepareSession(client);
    return client;
  } catch (error) {
    await client.end();
    throw error;
  }
}

/**
 * Pins the settings of a new connection. Every connection of ours passes here. Poolers refuse or drop startup
 * parameters, so a statement sets the values.
 *
 * @param settings values beside the pinned ones, or in their place.
 */
export async function prepareSession(client: ClientBase, settings: SessionSettings = {}): Promise<void> {
  const values = [{ ...PINNED, ...settings }];
  const statement = { text: PIN, values, query_timeout: ANSWER_TIMEOUT_MS };
  await client.query(statement);
}
