import { constants } from 'node:crypto';
import { Agent, type RequestOptions } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, DEFAULT_CIPHERS, type SecureContext, type TLSSocket } from 'node:tls';
import { RefusedError } from './guard/address-guard.ts';
import type { AddressGuard } from './guard/address-guard.ts';
import { withoutBrackets } from './guard/names.ts';
import { createGuardedLookup, judgeHost, judgeResolved } from './resolve/guarded-lookup.ts';
import type { NameResolver } from './resolve/name-resolver.ts';
import { Nat64 } from './resolve/nat64.ts';

export interface GuardedAgentOptions {
  guard: AddressGuard;
  resolver: Pick<NameResolver, 'resolve' | 'resolveIpv6'>;
  /** Connection limit for one host and port, busy and idle together. Further requests wait in a queue. */
  socketsPerHost: number;
  /** PEM certificates that replace the system's roots. `NODE_EXTRA_CA_CERTS` adds to the roots. */
  ca?: readonly string[] | undefined;
  /**
   * Closes a connection that is idle for longer. A connection keeps the address that was judged at its start.
   * Default: 12 s.
   */
  idleMs?: number;
  /** Monotonic time in milliseconds, for the age of a connection. */
  nowMs?: () => number;
  /** Called with the address when a socket connected to a refused address. Its metric must stay 0. */
  onTripwire?: ((address: string) => void) | undefined;
}

const IDLE_MS_DEFAULT = 12_000;
/** Older connections start no request: the name may have moved, or the address may have a new owner. */
const CONNECTION_AGE_MS_MAX = 300_000;
/** Enough for a burst to a busy endpoint. A new connection costs as much CPU as several deliveries. */
const IDLE_SOCKETS_PER_HOST = 128;
/** TLS sessions of the latest endpoints, a few kilobytes each. A resumed session needs no certificates. */
const SESSIONS_KEPT = 1_000;
/**
 * After this time, Node tries the next address of a name. Node's default of 250 ms is too short across
 * oceans.
 */
const ADDRESS_ATTEMPT_MS = 1000;

/** Keys and session tickets of a connection. Most connections have five keys and two tickets. */
const HANDSHAKE_MESSAGES_MAX = 64;

type CreateConnection = Parameters<Agent['createConnection']>;

/**
 * Connects only to addresses that the guard allows. It judges when it connects:
 * - a literal address, and the IPv4 address inside;
 * - a name by its rules, then every address that the lookup gives to the socket.
 *
 * It always verifies certificates and uses TLS 1.2 or later. Neither request options nor
 * `NODE_TLS_REJECT_UNAUTHORIZED` can weaken this.
 *
 * It has no connection limit over all hosts. Node counts idle sockets in that limit, so two idle hosts could
 * block a third.
 */
export class GuardedAgent extends Agent {
  /** Node's types lack it: 443, the port of a URL without one. */
  declare defaultPort: number;
  readonly #guard: AddressGuard;
  readonly #lookup: ReturnType<typeof createGuardedLookup>;
  readonly #secureContext: SecureContext;
  readonly #nat64: Nat64;
  readonly #nowMs: () => number;
  /** When each connection was opened. */
  readonly #madeAtMs = new WeakMap<Socket, number>();
  readonly #onTripwire: ((address: string) => void) | undefined;

  constructor(options: GuardedAgentOptions) {
    super({
      keepAlive: true,
      maxSockets: options.socketsPerHost,
      maxFreeSockets: IDLE_SOCKETS_PER_HOST,
      scheduling: 'lifo',
      maxCachedSessions: SESSIONS_KEPT,
      timeout: options.idleMs ?? IDLE_MS_DEFAULT,
    });
    this.#guard = options.guard;
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#nat64 = new Nat64(options.resolver);
    this.#lookup = createGuardedLookup(options.guard, options.resolver, this.#nat64);
    this.#secureContext = createSecureContext({
      minVersion: 'TLSv1.2',
      // In TLS 1.2 a server chooses the group of DHE. One of 10,000 bits blocks the event loop for 0.7 s.
      ciphers: `${DEFAULT_CIPHERS}:!DHE`,
      // Otherwise a server could repeat the handshake until the deadline.
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
      ...(options.ca === undefined ? {} : { ca: [...options.ca] }),
    });
    this.#onTripwire = options.onTripwire;
    // A connection in the pool may wait for as long as `idleMs` before its next request.
    const ageMsMax = CONNECTION_AGE_MS_MAX - (options.idleMs ?? IDLE_MS_DEFAULT);
    // Runs before Node's listener, which gives the connection to a waiting request or to the pool.
    this.prependListener('free', (socket: Socket) => {
      if (this.#nowMs() - (this.#madeAtMs.get(socket) ?? 0) > ageMsMax) socket.destroy();
    });
  }

  override createConnection(
    options: CreateConnection[0],
    callback?: CreateConnection[1],
  ): Duplex | null | undefined {
    const learned = this.#nat64.learn([withoutBrackets(options.host ?? '')]);
    if (learned === undefined) return this.#connect(options, callback); // nothing to learn for this host
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
      autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
      socket: undefined, // a request must not bring its own socket: the guard has not judged it
    } as RequestOptions) as TLSSocket;
    // Between two requests Node has no error listener on the socket for a moment. An error would then end the
    // process.
    socket.on('error', () => undefined);
    // Runs before Node's listener, which starts the handshake.
    socket.prependOnceListener('connect', () => {
      limitHandshakeMessages(socket);
      this.#trip(socket);
    });
    this.#madeAtMs.set(socket, this.#nowMs());
    return socket;
  }

  #failToConnect(error: Error, options: CreateConnection[0], callback: CreateConnection[1]): void {
    callback?.(error, undefined as unknown as Duplex);
    // Node adds a host to its list before it connects, and removes it only when a connection closes.
    const name = this.getName(options);
    if (this.sockets[name]?.length === 0) Reflect.deleteProperty(this.sockets, name);
  }

  /**
   * Closes the idle connections to a host, so that its next request opens a new one. IPv6 brackets are
   * optional. An empty port is the default one, as in a URL.
   */
  closeIdle(host: string, port: string): void {
    const prefix = `${withoutBrackets(host)}:${port || this.defaultPort}:`;
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

/**
 * In TLS 1.3 a server may send tickets and new keys without end. A new key is 30 bytes, and costs 20 µs of
 * CPU. OpenSSL has no limit. Only these events show them.
 */
function limitHandshakeMessages(socket: TLSSocket): void {
  let messages = 0;
  const count = (): void => {
    messages += 1;
    if (messages <= HANDSHAKE_MESSAGES_MAX) return;
    const error = new Error('too many handshake messages');
    socket.destroy(Object.assign(error, { code: 'ERR_TLS_TOO_MANY_HANDSHAKE_MESSAGES' }));
  };
  socket.on('keylog', count).on('session', count);
}
