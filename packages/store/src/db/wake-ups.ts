import type { WebhookId } from '@postrider/domain';
import { Client } from 'pg';
import type { Pool } from 'pg';
import { createPool } from './pool.ts';
import type { PoolOptions } from './pool.ts';
import { prepareSession } from './session.ts';

/** A message to the relays: these webhooks got a delivery; `mail`: mail was queued. */
export interface WakeUp {
  readonly webhooks: readonly WebhookId[];
  readonly mail: boolean;
}

const CHANNEL = 'postrider_wake';
/**
 * Replaces the ids when there are too many. The relay then scans all webhooks with outstanding deliveries.
 */
const EVERYTHING = '*';
const MAIL = 'mail';
const WORDS: readonly string[] = [EVERYTHING, MAIL];
/** A payload must have less than 8,000 bytes. An id has 29, and a comma. */
const WEBHOOKS_PER_NOTIFY = 200;
/** Above this number, a scan of all webhooks costs less. */
const WEBHOOKS_PER_WAKE_UP = 2_000;
const WAKE_UP_INTERVAL_MS = 5;
const RECONNECT_DELAY_MS = 500;
/** For the answer to LISTEN, or to a probe. */
const ANSWER_TIMEOUT_MS = 5_000;
/** For an orderly end of the connection. */
const STOP_TIMEOUT_MS = 1_000;
/** A listening session is probed this often. The kernel takes minutes to give up on a silent server. */
const PROBE_INTERVAL_MS = 10_000;

export type WakeUps = ReturnType<typeof createWakeUps>;

/**
 * Sends wake-ups with NOTIFY, on a connection of its own. Inside the cause's transaction, NOTIFY would make
 * every commit of the cluster queue behind one lock. The first wake-up goes at once, later ones at most every
 * 5 ms.
 *
 * A lost wake-up only costs one polling interval of the relay. So a failure goes to `onError`, never to the
 * caller.
 */
export function createWakeUps(options: Omit<PoolOptions, 'durableCommits' | 'size'>) {
  const pool: Pool = createPool({ ...options, size: 1, durableCommits: false });
  const webhooks = new Set<WebhookId>();
  const words = new Set<string>();
  let sender: Promise<void> | null = null;

  async function sendAll(): Promise<void> {
    try {
      while (webhooks.size > 0 || words.size > 0) {
        const parts: string[] = webhooks.size > WEBHOOKS_PER_WAKE_UP ? [EVERYTHING] : [...webhooks];
        parts.push(...words);
        webhooks.clear();
        words.clear();
        const sentAt = performance.now();
        await pool.query({
          name: 'wake',
          text: 'select pg_notify($1, payload) from unnest($2::text[]) payload',
          values: [CHANNEL, payloadsOf(parts)],
        });
        const sinceMs = performance.now() - sentAt;
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, WAKE_UP_INTERVAL_MS - sinceMs)));
      }
    } catch (error) {
      options.onError(asError(error));
    } finally {
      sender = null;
    }
  }

  return {
    send(wakeUp: WakeUp): void {
      for (const id of wakeUp.webhooks) webhooks.add(id);
      if (wakeUp.mail) words.add(MAIL);
      if (webhooks.size > 0 || words.size > 0) sender ??= sendAll();
    },
    async close(): Promise<void> {
      await sender;
      await pool.end();
    },
  };
}

export interface WakeUpListenerOptions {
  readonly databaseUrl: string;
  readonly applicationName: string;
  /**
   * `everything` is true when there were too many ids, and after each connect, because wake-ups may have been
   * missed.
   */
  readonly onWakeUp: (wakeUp: WakeUp & { readonly everything: boolean }) => void;
  readonly onError: (error: Error) => void;
  /** Milliseconds between two probes of the session (10,000). */
  readonly probeIntervalMs?: number;
}

export type WakeUpListener = ReturnType<typeof createWakeUpListener>;

export function createWakeUpListener(options: WakeUpListenerOptions) {
  const { probeIntervalMs = PROBE_INTERVAL_MS } = options;
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

  async function giveUp(broken: Client, error: unknown): Promise<void> {
    options.onError(asError(error));
    await endWithin(STOP_TIMEOUT_MS, broken).catch(options.onError);
    if (client === broken) reconnectLater();
  }

  async function probe(probed: Client): Promise<void> {
    try {
      await probed.query('select 1');
      if (client === probed) later(() => probe(probed), probeIntervalMs);
    } catch (error) {
      if (client === probed) await giveUp(probed, error);
    }
  }

  async function connect(): Promise<void> {
    const next = clientOf(options);
    client = next;
    next.on('error', options.onError);
    next.once('end', () => {
      if (client === next) reconnectLater();
    });
    next.on('notification', (message) => options.onWakeUp(parseWakeUp(message.payload ?? '')));
    try {
      await next.connect();
      await prepareSession(next);
      await next.query(`listen ${CHANNEL}`);
      options.onWakeUp({ webhooks: [], mail: true, everything: true });
      if (client === next) later(() => probe(next), probeIntervalMs);
    } catch (error) {
      await giveUp(next, error);
    }
  }

  return {
    /** Connects. The listener then reconnects by itself whenever the connection is lost. */
    start(): void {
      void connect();
    },
    async stop(): Promise<void> {
      stopped = true;
      clearTimeout(timer);
      const last = client;
      client = null;
      if (last !== null) await endWithin(STOP_TIMEOUT_MS, last);
    },
  };
}

function clientOf({ databaseUrl, applicationName }: WakeUpListenerOptions): Client {
  return new Client({
    connectionString: databaseUrl,
    application_name: applicationName,
    connectionTimeoutMillis: ANSWER_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  });
}

/** Ends the connection, and destroys its socket if the server does not answer in time. */
async function endWithin(timeoutMs: number, client: Client): Promise<void> {
  const timer = setTimeout(() => client.connection.stream.destroy(), timeoutMs);
  try {
    await client.end();
  } finally {
    clearTimeout(timer);
  }
}

function payloadsOf(parts: readonly string[]): string[] {
  const count = Math.ceil(parts.length / WEBHOOKS_PER_NOTIFY);
  return Array.from({ length: count }, (_, n) =>
    parts.slice(n * WEBHOOKS_PER_NOTIFY, (n + 1) * WEBHOOKS_PER_NOTIFY).join(','),
  );
}

function parseWakeUp(payload: string): WakeUp & { everything: boolean } {
  const parts = payload.split(',').filter((part) => part !== '');
  return {
    webhooks: parts.filter((part) => !WORDS.includes(part)) as WebhookId[],
    mail: parts.includes(MAIL),
    everything: parts.includes(EVERYTHING),
  };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
