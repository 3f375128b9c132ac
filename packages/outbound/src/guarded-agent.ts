import { Agent, type RequestOptions } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import type { AddressGuard } from './guard/address-guard.ts';
import { withoutBrackets } from './guard/names.ts';
import { RefusedError } from './guard/refused-error.ts';
import { createGuardedLookup, judgeHost, judgeResolved } from './resolve/guarded-lookup.ts';
import type { NameResolver } from './resolve/name-resolver.ts';
import { createNat64, type Nat64 } from './resolve/nat64.ts';

export interface GuardedAgentOptions {
  guard: AddressGuard;
  resolver: NameResolver;
  /** Connections to one host and port, busy and idle together; further requests queue. */
  socketsPerHost: number;
  /** PEM certificates trusted in place of the system's roots. */
  ca?: readonly string[] | undefined;
  /** An idle connection is closed after this long. It stays on the address that was judged when it was made. */
  idleMs?: number;
  /** Monotonic time in milliseconds, for the age of a connection. */
  nowMs?: () => number;
  /** Called with the address when a socket came up connected to one the guard refuses: it must never happen. */
  onTripwire?: ((address: string) => void) | undefined;
}

const idleMsDefault = 12_000;
/** No request begins on a connection older than this: what its address leads to, and to whom, may have changed. */
const connectionAgeMsMax = 300_000;
/** Enough for a burst to a busy endpoint: a connection made anew costs as much CPU as several deliveries. */
const idleSocketsPerHost = 128;
/** TLS sessions kept, of the endpoints met last, some kilobytes each: to resume one spares both sides the certificates. */
const sessionsKept = 1_000;
/** How long one address of several may take to connect before the next is tried; Node's 250 ms is too short across oceans. */
const addressAttemptMs = 1000;

type CreateConnection = Parameters<Agent['createConnection']>;

/**
 * Connects only to what the guard allows, and judges in the act of connecting: a literal as it stands and by the IPv4
 * address inside, a name by its rules and then by every address the lookup hands to the socket. Certificates are always verified, TLS is 1.2 or later;
 * neither the options of a request nor `NODE_TLS_REJECT_UNAUTHORIZED` can loosen that.
 *
 * There is no cap over all hosts: Node counts idle sockets in it, so two idle hosts could block a third.
 */
export class GuardedAgent extends Agent {
  readonly #guard: AddressGuard;
  readonly #lookup: ReturnType<typeof createGuardedLookup>;
  readonly #secureContext: SecureContext;
  readonly #nat64: Nat64;
  readonly #nowMs: () => number;
  /** When each connection of a request was made. */
  readonly #madeAtMs = new WeakMap<Socket, number>();
  readonly #onTripwire: ((address: string) => void) | undefined;

  constructor(options: GuardedAgentOptions) {
    super({
      keepAlive: true,
      maxSockets: options.socketsPerHost,
      maxFreeSockets: idleSocketsPerHost,
      scheduling: 'lifo',
      maxCachedSessions: sessionsKept,
      timeout: options.idleMs ?? idleMsDefault,
    });
    this.#guard = options.guard;
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#nat64 = createNat64(options.resolver);
    this.#lookup = createGuardedLookup(options.guard, options.resolver, this.#nat64);
    this.#secureContext = createSecureContext({
      minVersion: 'TLSv1.2',
      ...(options.ca === undefined ? {} : { ca: [...options.ca] }),
    });
    this.#onTripwire = options.onTripwire;
    const ageMsMax = connectionAgeMsMax - (options.idleMs ?? idleMsDefault);
    // Before Node's own listener, which hands the connection to a request that waits, or keeps it while it is idle.
    this.prependListener('free', (socket: Socket) => {
      if (this.#nowMs() - (this.#madeAtMs.get(socket) ?? 0) > ageMsMax) socket.destroy();
    });
  }

  override createConnection(
    options: CreateConnection[0],
    callback?: CreateConnection[1],
  ): Duplex | null | undefined {
    const learned = this.#nat64.learn([withoutBrackets(options.host ?? '')]);
    if (learned === undefined) return this.#connect(options, callback);
    learned
      .then(() => {
        const socket = this.#connect(options, callback);
        if (socket !== undefined) callback?.(null, socket);
      })
      .catch((error: unknown) => this.#failToConnect(error as Error, options, callback));
    return undefined;
  }

  #connect(options: CreateConnection[0], callback: CreateConnection[1]): TLSSocket | undefined {
    const host = withoutBrackets(options.host ?? '');
    const refusal = judgeHost(host, this.#guard, this.#nat64);
    if (refusal !== null) {
      this.#failToConnect(new RefusedError(refusal), options, callback);
      return undefined;
    }
    const socket = super.createConnection({
      ...options,
      lookup: this.#lookup,
      secureContext: this.#secureContext,
      rejectUnauthorized: true,
      autoSelectFamilyAttemptTimeout: addressAttemptMs,
      socket: undefined, // none that a request brings: no guard has judged it
    } as RequestOptions) as TLSSocket;
    // A socket between two requests has no listener of Node's own for a moment; without this one an error would end the process.
    socket.on('error', () => undefined);
    // Before Node's own listener, which begins the handshake.
    socket.prependOnceListener('connect', () => this.#trip(socket));
    this.#madeAtMs.set(socket, this.#nowMs());
    return socket;
  }

  #failToConnect(error: Error, options: CreateConnection[0], callback: CreateConnection[1]): void {
    callback?.(error, undefined as unknown as Duplex);
    // Node lists a host before it connects, and strikes it off only when a connection to it closes.
    const name = this.getName(options);
    if (this.sockets[name]?.length === 0) Reflect.deleteProperty(this.sockets, name);
  }

  /** Closes the idle connections to a host (an IPv6 literal with or without brackets), so that the next request to it opens a new one. */
  closeIdle(host: string, port: string): void {
    const prefix = `${withoutBrackets(host)}:${port}:`;
    for (const [name, sockets] of Object.entries(this.freeSockets)) {
      if (name.startsWith(prefix)) for (const socket of sockets ?? []) socket.destroy();
    }
  }

  #trip(socket: Socket): void {
    const address = socket.remoteAddress;
    if (address === undefined) return;
    const refusal = judgeResolved(address, this.#guard, this.#nat64);
    if (refusal === null) return;
    this.#onTripwire?.(address);
    socket.destroy(new RefusedError(refusal));
  }
}
