import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import { StoreUnavailableError } from './errors.ts';

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
 * Skips a setting that this Postgres lacks. Sets `synchronous_commit` to `on` only when it is `off`: with
 * `off`, a crash loses commits that we have acknowledged. Names are qualified, because the search path is not
 * pinned yet.
 */
const PIN = `
  select pg_catalog.set_config(name, value, false),
         pg_catalog.current_setting('transaction_read_only') = 'on' as "readOnly"
  from pg_catalog.jsonb_each_text($1) as pin (name, value)
  where pg_catalog.current_setting(name, true) is not null
    and (value <> 'on' or name <> 'synchronous_commit' or pg_catalog.current_setting(name, true) = 'off')`;

/** A server that accepts the connection and does not answer is an error. */
const ANSWER_TIMEOUT_MS = 5_000;

/**
 * NAT and load balancers drop a connection without traffic after some minutes. Without probes, a client that
 * waits for an answer would not see it.
 */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };

/** SQLSTATE of a write in a session that only reads. */
const READ_ONLY = '25006';
/** Postgres reports a change of these with the answer to the session's next statement. */
const READ_ONLY_SETTINGS = ['in_hot_standby', 'default_transaction_read_only'];

/** A connection. pg-pool passes a full Client, but its type lacks `connection`. */
export type Session = Pick<Client, 'query' | 'connection'>;

/**
 * Each error of `connect` is a StoreUnavailableError: a refused login, TLS, a full pooler. No statement has
 * run, and an operator may repair the cause while the process runs.
 */
export class SessionClient extends Client {
  #missingFileError: unknown;

  /**
   * pg's constructor throws when a file is missing that the URL names (`sslrootcert`). pg-pool calls it in
   * events, where an error ends the process. So `connect` fails instead.
   */
  constructor(config?: ClientConfig) {
    try {
      super(config);
    } catch (error) {
      super();
      this.#missingFileError = error;
    }
  }

  override connect(): Promise<Client>;
  override connect(callback: (error: Error | null) => void): void;
  override connect(callback?: (error: Error | null) => void): Promise<Client> | undefined {
    if (callback === undefined) {
      return new Promise((resolve, reject) => {
        this.connect((error) => (error === null ? resolve(this) : reject(error)));
      });
    }
    const done = (error: unknown) => callback(error === null ? null : new StoreUnavailableError(error));
    if (this.#missingFileError === undefined) super.connect(done);
    else process.nextTick(done, this.#missingFileError);
    return undefined;
  }
}

/** Opens a connection outside a pool. It has no time limit for a statement. */
export async function openSession(config: ClientConfig): Promise<Client> {
  const client = new SessionClient({ connectionTimeoutMillis: ANSWER_TIMEOUT_MS, ...KEEP_ALIVE, ...config });
  // A connection may break between two statements. Without a listener, Node ends the process. The next
  // statement fails anyway.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await prepareSession(client);
    return client;
  } catch (error) {
    endSession(client); // `end` would wait for a silent server
    throw error;
  }
}

/**
 * Pins the settings of a new connection. Every new connection to Postgres calls this once. Poolers refuse or
 * drop startup parameters, so a statement sets the values.
 *
 * A server that only reads is refused: after a failover, it would serve old rows for ever. The connection
 * ends with its next statement after the server became read-only.
 *
 * @param settings values beside the pinned ones, or in their place.
 * @param onReadOnly is called when the server has stopped writing.
 * @throws StoreUnavailableError when the statement fails.
 * @throws Error with SQLSTATE 25006 when the server only reads.
 */
export async function prepareSession(
  client: Session,
  settings: SessionSettings = {},
  onReadOnly: () => void = () => undefined,
): Promise<void> {
  const values = [{ ...PINNED, ...settings }];
  const statement = { text: PIN, values, query_timeout: ANSWER_TIMEOUT_MS };
  // A pooler may connect to Postgres only now, so the login may fail here.
  const { rows } = await client.query<{ readOnly: boolean }>(statement).catch((error: unknown) => {
    throw new StoreUnavailableError(error);
  });
  if (rows[0]?.readOnly !== false) throw readOnlyError();
  endWhenReadOnly(client, onReadOnly);
}

/** Prisma's driver reads the code only beside a severity. */
function readOnlyError(): Error {
  const message = 'this server only reads (transaction_read_only is on)';
  return Object.assign(new Error(message), { code: READ_ONLY, severity: 'FATAL' });
}

/** Ends the connection even while it is in use, for example by a Prisma transaction. */
function endWhenReadOnly({ connection }: Pick<Session, 'connection'>, onReadOnly: () => void): void {
  function end(): void {
    // The statement that is running gets its answer first.
    connection.once('readyForQuery', () => {
      endSession({ connection });
      onReadOnly();
    });
  }
  connection.on('errorMessage', ({ code }: { code?: string }) => {
    if (code === READ_ONLY) end();
  });
  connection.on('parameterStatus', (report: { parameterName: string; parameterValue: string }) => {
    if (READ_ONLY_SETTINGS.includes(report.parameterName) && report.parameterValue === 'on') end();
  });
}

/** Cuts the connection, as a server that goes away does. A pool replaces it. */
export function endSession({ connection }: Pick<Session, 'connection'>): void {
  connection.stream.destroy();
}
