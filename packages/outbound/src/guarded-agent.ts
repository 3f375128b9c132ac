import { Agent, type RequestOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import type { AddressGuard } from './guard/address-guard.ts';
import { RefusedError } from './guard/refused-error.ts';
import { createGuardedLookup } from './resolve/guarded-lookup.ts';
import type { NameResolver } from './resolve/name-resolver.ts';

export interface GuardedAgentOptions {
  guard: AddressGuard;
  resolver: NameResolver;
  /** Connections to one host and port, busy and idle together; further requests queue. */
  socketsPerHost: number;
  /** PEM certificates trusted in place of the system's roots. */
  ca?: readonly string[] | undefined;
  /** An idle connection is closed after this long. It stays on the address that was judged when it was made. */
  idleMs?: number;
  /** Called with the address when a socket came up connected to one the guard refuses: it must never happen. */
  onTripwire?: ((address: string) => void) | undefined;
}

const idleMsDefault = 12_000;
/** Enough for a burst to a busy endpoint: a connection made anew costs as much CPU as several deliveries. */
const idleSocketsPerHost = 128;
/** TLS sessions kept, of the endpoints met last, some kilobytes each: to resume one spares both sides the certificates. */
const sessionsKept = 1_000;
/** How long one address of several may take to connect before the next is tried; Node's 250 ms is too short across oceans. */
const addressAttemptMs = 1000;

type CreateConnection = Parameters<Agent['createConnection']>;

/**
 * Connects only to what the guard allows, and judges in the act of connecting: a literal as it stands, a name by its rules
 * and then by every address the lookup hands to the socket. Certificates are always verified, TLS is 1.2 or later;
 * neither the options of a request nor `NODE_TLS_REJECT_UNAUTHORIZED` can loosen that.
 *
 * There is no cap over all hosts: Node counts idle sockets in it, so two idle hosts could block a third.
 */
export class GuardedAgent extends Agent {
  readonly #guard: AddressGuard;
  readonly #lookup: ReturnType<typeof createGuardedLookup>;
  readonly #secureContext: SecureContext;
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
    this.#lookup = createGuardedLookup(options.guard, options.resolver);
    this.#secureContext = createSecureContext({
      minVersion: 'TLSv1.2',
      ...(options.ca === undefined ? {} : { ca: [...options.ca] }),
    });
    this.#onTripwire = options.onTripwire;
  }

  override createConnection(
    options: CreateConnection[0],
    callback?: CreateConnection[1],
  ): Duplex | null | undefined {
    const refusal = this.#guard.judgeHost(options.host ?? '');
    if (refusal !== null) {
      callback?.(new RefusedError(refusal), undefined as unknown as Duplex);
      return undefined;
    }
    const socket = super.createConnection({
      ...options,
      lookup: this.#lookup,
      secureContext: this.#secureContext,
      rejectUnauthorized: true,
      autoSelectFamilyAttemptTimeout: addressAttemptMs,
    } as RequestOptions) as TLSSocket;
    // A socket between two requests has no listener of Node's own for a moment; without this one an error would end the process.
    socket.on('error', () => undefined);
    socket.once('connect', () => this.#trip(socket));
    return socket;
  }

  /** Closes the idle connections to a host (an IPv6 literal with or without brackets), so that the next request to it opens a new one. */
  closeIdle(host: string, port: string): void {
    const prefix = `${host.replace(/^\[|\]$/g, '')}:${port}:`;
    for (const [name, sockets] of Object.entries(this.freeSockets)) {
      if (name.startsWith(prefix)) for (const socket of sockets ?? []) socket.destroy();
    }
  }

  #trip(socket: TLSSocket): void {
    const address = socket.remoteAddress;
    if (address === undefined) return;
    const refusal = this.#guard.judgeAddress(address);
    if (refusal === null) return;
    this.#onTripwire?.(address);
    socket.destroy(new RefusedError(refusal));
  }
}
