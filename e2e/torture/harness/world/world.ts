import type { FaultProxy, ProcessName, SystemProcess, TcpListener, TestAuthority } from '@postrider/testing';
import type { NeighbourTimes } from '../checker/history.ts';
import type { Random } from '../random.ts';
import type { PrivatePostgres } from '../servers/postgres.ts';
import type { PrivateRedis } from '../servers/redis.ts';
import type { ApiClient } from './api-client.ts';
import type { Endpoint, EndpointWish } from './endpoint.ts';
import type { MailSender } from './mail-sender.ts';
import type { Producer } from './producer.ts';
import type { OpenStore } from '../../../open-store.ts';

export type ProxiedServer = 'postgres' | 'redis';

export interface ServerProxy extends FaultProxy {
  readonly server: ProxiedServer;
}

export interface StartWish {
  /** The proxies between this process and its servers, at most one per server. */
  readonly through?: readonly ServerProxy[];
  readonly env?: Readonly<Record<string, string>>;
  /** The folder of its bundle. Default: this build. */
  readonly dist?: string;
}

/** The means of an experiment. All are its own, except a shared Postgres server. */
export interface World {
  readonly seed: number;
  /** The only source of chance, so that the printed seed repeats the experiment. */
  readonly random: Random;
  /** Aborts at the deadline. */
  readonly signal: AbortSignal;
  /** A count, which is smaller in the short suite. */
  scaled(count: number): number;

  readonly postgres: PrivatePostgres;
  /** The URL of the experiment's database, past every proxy. */
  readonly databaseUrl: string;
  /** @throws when the experiment's queue is in Postgres */
  readonly redis: PrivateRedis;
  /** The prefix of BullMQ's keys in Redis. */
  readonly queuePrefix: string;
  /** Runs a statement on the experiment's database, past every proxy. */
  readonly query: OpenStore['query'];
  /** Counts rows. @param rows a table, or other text after `from`, with $1 for `params` */
  count(rows: string, params?: readonly unknown[]): Promise<number>;
  /** The number of an account's outstanding deliveries. */
  outstandingOf(accountId: string): Promise<number>;
  /** Starts a fault proxy before a server, for processes that are started `through` it. */
  proxy(server: ProxiedServer): Promise<ServerProxy>;

  readonly accountId: string;
  /** Makes another account. @returns its id */
  newAccount(): Promise<string>;
  /** Registers a webhook with an endpoint on one of several hosts. */
  endpoint(wish?: EndpointWish): Promise<Endpoint>;
  /** The processes trust it. It is for an experiment's own servers. */
  readonly authority: TestAuthority;
  /** A port on another loopback address that must never get a connection (I7). */
  canary(): Promise<TcpListener & { readonly url: string }>;
  readonly producer: Producer;
  /** A client of the world's account, with all scopes, at the API that was started last. */
  readonly api: ApiClient;
  /** Sends mail to the inbound process that was started last. */
  readonly sender: MailSender;
  /** The folder of the bytes of received mail. */
  readonly blobFolder: string;

  /** Starts a process and waits until it listens. The last start counts as healing. */
  start(name: ProcessName, wish?: StartWish): Promise<SystemProcess>;
  /** Sends SIGKILL and logs a fault. Only a worker's attempts in flight may be made again. */
  kill(process: SystemProcess): Promise<void>;
  /** Sends SIGTERM and claims an exit with 0 within the deadline. No attempt may be repeated. */
  stop(process: SystemProcess): Promise<void>;

  /**
   * Causes a fault, and logs it with the attempts in flight. With `mayRepeat: false` the checker excuses no
   * duplicate.
   */
  fault(name: string, wish: { readonly mayRepeat: boolean }, act: () => unknown): Promise<void>;
  /** Kills Postgres and starts it from the backup of this time. Later causes may be lost. */
  restore(backedUpAtMs: number): Promise<void>;
  /**
   * Sets the distance of its own Postgres' clock from the machine's, and logs a fault. A step forwards ends
   * leases early, so attempts in flight may be made again.
   */
  stepClock(offMs: number): Promise<void>;
  /**
   * All faults have healed. The last one lasted until now. Recovery is measured from here. Without this call,
   * it is measured from the last fault or start.
   */
  healed(): void;
  /** Waits for a condition. @throws after `withinMs` (a minute) */
  until(what: string, condition: () => boolean | Promise<boolean>, withinMs?: number): Promise<void>;
  /** Waits until nothing is outstanding. @throws after `withinMs` (90 s) */
  drained(withinMs?: number): Promise<void>;
  /** Runs the deletion of an endpoint's webhook. Afterwards nothing may arrive there. */
  removing(endpoint: Endpoint, act: () => Promise<unknown>): Promise<void>;
  /** Logs a successful replay: a new set of attempts may follow. */
  noteReplay(eventId: string, webhookId: string): void;

  /** Logs the times of healthy endpoints before and beside others in trouble, for the checker (I8). */
  noteNeighbours(times: NeighbourTimes): void;

  /** Claims something that only the experiment can see. */
  claim(text: string, held: boolean, saw?: string): void;
  /** Prints a line. */
  note(text: string): void;
}

export interface Claim {
  readonly text: string;
  readonly held: boolean;
  /** The observed fact. */
  readonly saw: string | null;
}
