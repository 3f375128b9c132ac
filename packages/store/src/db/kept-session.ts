import type { Client } from 'pg';
import { asError } from './errors.ts';
import { KEEP_ALIVE, prepareSession, SessionClient } from './session.ts';
import type { SessionSettings } from './session.ts';

export interface KeptSessionOptions {
  readonly databaseUrl: string;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  /** Settings of each session beside the pinned ones, or in their place. */
  readonly settings?: SessionSettings;
  /** Called with each new session. */
  readonly onConnect: (session: Client) => Promise<void>;
  /** Called every `probeIntervalMs`. By default it runs `select 1`. */
  readonly onProbe?: (session: Client) => Promise<void>;
  /** Default: 10,000. */
  readonly probeIntervalMs?: number;
  readonly onError: (error: Error) => void;
}

const RECONNECT_DELAY_MS = 500;
/** Limits a connect, and the answer to a statement. */
const ANSWER_TIMEOUT_MS = 5_000;
/** For an orderly end of the connection. */
const STOP_TIMEOUT_MS = 1_000;
/** Probes find a silent server. The kernel takes minutes to give up on it. */
const PROBE_INTERVAL_MS = 10_000;

export type KeptSession = ReturnType<typeof keepSession>;

/**
 * Keeps one session with Postgres, for what lasts as long as a session: LISTEN and advisory locks. It
 * connects again whenever the session ends, does not answer a probe, or a callback rejects.
 */
export function keepSession(options: KeptSessionOptions) {
  const { onConnect, onProbe = ask, probeIntervalMs = PROBE_INTERVAL_MS, onError } = options;
  let stopped = false;
  let client: Client | null = null;
  /** The timer of the next probe or the next connect. */
  let timer: NodeJS.Timeout | undefined;

  function later(work: () => Promise<void>, delayMs: number): void {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(() => void work(), delayMs);
  }

  function reconnectLater(): void {
    client = null;
    later(connect, RECONNECT_DELAY_MS);
  }

  /** Does the work, then schedules the next probe. If the work fails, the session is replaced. */
  async function use(session: Client, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      if (client === session) later(() => use(session, () => onProbe(session)), probeIntervalMs);
    } catch (error) {
      if (!stopped) onError(asError(error));
      if (client !== session) return;
      await endKeptSession(session).catch(onError);
      if (client === session) reconnectLater();
    }
  }

  async function connect(): Promise<void> {
    const session = clientOf(options);
    client = session;
    session.on('error', onError);
    session.once('end', () => {
      if (client === session) reconnectLater();
    });
    await use(session, async () => {
      await session.connect();
      await prepareSession(session, options.settings);
      await onConnect(session);
    });
  }

  return {
    start(): void {
      void connect();
    },
    async stop(): Promise<void> {
      stopped = true;
      clearTimeout(timer);
      const last = client;
      client = null;
      if (last !== null) await endKeptSession(last);
    },
  };
}

async function ask(session: Client): Promise<void> {
  await session.query('select 1');
}

function clientOf({ databaseUrl, applicationName }: KeptSessionOptions): Client {
  return new SessionClient({
    connectionString: databaseUrl,
    application_name: applicationName,
    connectionTimeoutMillis: ANSWER_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    ...KEEP_ALIVE,
  });
}

/** Ends the connection, and destroys its socket if the server does not answer in a second. */
export async function endKeptSession(client: Client): Promise<void> {
  const timer = setTimeout(() => client.connection.stream.destroy(), STOP_TIMEOUT_MS);
  try {
    await client.end();
  } finally {
    clearTimeout(timer);
  }
}
