import type { WebhookId } from '@postrider/domain';
import { Client } from 'pg';
import type { Pool } from 'pg';
import { createPool } from './pool.ts';
import type { PoolOptions } from './pool.ts';

/** What a wake-up tells the relays: which webhooks got a delivery, and whether mail was queued. */
export interface WakeUp {
  readonly webhooks: readonly WebhookId[];
  readonly mail: boolean;
}

/** Sends wake-ups. Losing one costs a poll of the relay, nothing else: a failure is never the caller's. */
export interface WakeUps {
  send(news: WakeUp): void;
  close(): Promise<void>;
}

export interface WakeUpListener {
  /** Connects, and from then on keeps connected by itself. */
  start(): void;
  stop(): Promise<void>;
}

const CHANNEL = 'postrider_wake';
/** Said in place of ids when there are too many: every webhook with work is looked at. */
const EVERYTHING = '*';
const MAIL = 'mail';
const WORDS: readonly string[] = [EVERYTHING, MAIL];
/** Postgres takes less than 8000 bytes; an id has 29 and a comma. */
const WEBHOOKS_PER_NOTIFY = 200;
/** Beyond it a look at everything costs less. */
const WEBHOOKS_PER_WAKE_UP = 2_000;
const WAKE_UP_INTERVAL_MS = 5;
const RECONNECT_DELAY_MS = 500;
/** For LISTEN and for a probe to be answered, and for a goodbye. */
const ANSWER_TIMEOUT_MS = 5_000;
const STOP_TIMEOUT_MS = 1_000;
/** How often a listening session is asked whether it still stands: the kernel takes minutes to give up a silent server. */
const PROBE_INTERVAL_MS = 10_000;

/**
 * Wake-ups by NOTIFY on a connection of their own, never in the cause's transaction: there it would make every
 * commit of the cluster queue behind one lock. The first goes at once, then at most one per 5 ms.
 */
export function createWakeUps(options: Omit<PoolOptions, 'durableCommits' | 'size'>): WakeUps {
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
        await new Promise((resolve) => setTimeout(resolve, WAKE_UP_INTERVAL_MS - sinceMs));
      }
    } catch (error) {
      options.onError(asError(error));
    } finally {
      sender = null;
    }
  }

  return {
    send(news) {
      for (const id of news.webhooks) webhooks.add(id);
      if (news.mail) words.add(MAIL);
      if (webhooks.size > 0 || words.size > 0) sender ??= sendAll();
    },
    async close() {
      await sender;
      await pool.end();
    },
  };
}

export interface WakeUpListenerOptions {
  readonly databaseUrl: string;
  readonly applicationName: string;
  /** `everything` is said when ids were too many and after every (re)connect: something may have been missed. */
  readonly onWakeUp: (news: WakeUp & { readonly everything: boolean }) => void;
  readonly onError: (error: Error) => void;
  /** How often the session is asked whether it still stands (10,000). */
  readonly probeIntervalMs?: number;
}

export function createWakeUpListener(options: WakeUpListenerOptions): WakeUpListener {
  const { probeIntervalMs = PROBE_INTERVAL_MS } = options;
  let stopped = false;
  let client: Client | null = null;
  /** Of the next probe, or of the next try to connect. */
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

  async function probe(standing: Client): Promise<void> {
    try {
      await standing.query('select 1');
      if (client === standing) later(() => probe(standing), probeIntervalMs);
    } catch (error) {
      if (client === standing) await giveUp(standing, error);
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
      await next.query(`listen ${CHANNEL}`);
      options.onWakeUp({ webhooks: [], mail: true, everything: true });
      if (client === next) later(() => probe(next), probeIntervalMs);
    } catch (error) {
      await giveUp(next, error);
    }
  }

  return {
    start() {
      void connect();
    },
    async stop() {
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

/** Says goodbye, and to a server that does not answer shuts the door. */
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
