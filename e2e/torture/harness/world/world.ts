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
  /** The proxies that this process reaches its servers through, at most one of each. */
  readonly through?: readonly ServerProxy[];
  readonly env?: Readonly<Record<string, string>>;
  /** The folder of its bundle, in place of this build's. */
  readonly dist?: string;
}

/** What an experiment works with. Everything in it is its own, except a shared Postgres server. */
export interface World {
  readonly seed: number;
  /** The only source of chance: the printed seed then repeats the experiment. */
  readonly random: Random;
  /** Fires at the deadline. */
  readonly signal: AbortSignal;
  /** A count, smaller in the short suite. */
  scaled(count: number): number;

  readonly postgres: PrivatePostgres;
  /** Of the experiment's own database, past every proxy. */
  readonly databaseUrl: string;
  /** @throws when the experiment's queue is in Postgres. */
  readonly redis: PrivateRedis;
  /** Of the keys of BullMQ in Redis. */
  readonly queuePrefix: string;
  /** A statement on the experiment's database, past every proxy. */
  readonly query: OpenStore['query'];
  /** How many rows there are. @param rows a table, or what else may follow `from`, with $1 and so on for `params`. */
  count(rows: string, params?: readonly unknown[]): Promise<number>;
  /** How many deliveries of an account have not ended. */
  outstandingOf(accountId: string): Promise<number>;
  /** A new fault proxy before a server; processes that are started `through` it are behind it. */
  proxy(server: ProxiedServer): Promise<ServerProxy>;

  readonly accountId: string;
  /** Another tenant. @returns its id. */
  newAccount(): Promise<string>;
  /** Registers a webhook, with an endpoint on one of several hosts behind it. */
  endpoint(wish?: EndpointWish): Promise<Endpoint>;
  /** Whom the processes trust: for servers that an experiment brings itself. */
  readonly authority: TestAuthority;
  /** A port on a loopback address of its own that must never see a connection (I7). */
  canary(): Promise<TcpListener & { readonly url: string }>;
  readonly producer: Producer;
  /** Of the world's account, with every scope, at the API that was started last. */
  readonly api: ApiClient;
  /** Sends mail to us, to the inbound process that was started last. */
  readonly sender: MailSender;
  /** Where the bytes of received mail are, unless an experiment says otherwise. */
  readonly blobFolder: string;

  /** Starts a real process and waits until it listens. A fault counts as healed at the moment of the last start. */
  start(name: ProcessName, wish?: StartWish): Promise<SystemProcess>;
  /** kill -9, logged as a fault. A worker's attempts in flight may be made again, a relay's or an API's may not. */
  kill(process: SystemProcess): Promise<void>;
  /** SIGTERM; a claim that it exits 0 within the deadline. Nothing may be repeated because of it. */
  stop(process: SystemProcess): Promise<void>;

  /**
   * Does harm, and logs it with the attempts that are in flight. Whatever must not cost a duplicate says
   * `mayRepeat: false`, and the checker then excuses none.
   */
  fault(name: string, wish: { readonly mayRepeat: boolean }, act: () => unknown): Promise<void>;
  /** Kills Postgres and starts it from its backup, which was made at that moment. Causes since then may be lost. */
  restore(backedUpAtMs: number): Promise<void>;
  /**
   * Steps the clock of an own Postgres to so far from the machine's, a fault of its own. Forwards it ends leases before
   * their time: attempts in flight may be made again.
   */
  stepClock(offMs: number): Promise<void>;
  /** From now on nothing is broken any more: recovery is measured from here (else from the last fault or start). */
  healed(): void;
  /** Waits for a condition. @throws after `withinMs` (a minute), saying what was waited for. */
  until(what: string, condition: () => boolean | Promise<boolean>, withinMs?: number): Promise<void>;
  /** Waits until nothing is outstanding, for claims about what came of it all. @throws after `withinMs` (90 s). */
  drained(withinMs?: number): Promise<void>;
  /** Runs what deletes an endpoint's webhook. Afterwards nothing may arrive there. */
  removing(endpoint: Endpoint, act: () => Promise<unknown>): Promise<void>;
  /** A replay that was answered with success: a fresh set of attempts may follow. */
  noteReplay(eventId: string, webhookId: string): void;

  /** The arrivals at healthy endpoints beside others in trouble, for the checker to compare with the time before (I8). */
  noteNeighbours(times: NeighbourTimes): void;

  /** Something that the experiment itself must see, beside what the checker looks at. */
  claim(text: string, held: boolean, saw?: string): void;
  /** A line for whoever watches. */
  note(text: string): void;
}

export interface Claim {
  readonly text: string;
  readonly held: boolean;
  /** What was seen instead, or besides. */
  readonly saw: string | null;
}
