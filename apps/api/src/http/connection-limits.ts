import { BlockList, isIPv6 } from 'node:net';
import type { Socket } from 'node:net';
import { networkOf } from '@postrider/limits';

interface Limits {
  readonly max: number;
  /** 0: no limit per address. */
  readonly perAddressMax: number;
  /** Connections with the same address count together. Null: no limit per address. */
  readonly addressOf: (socket: Socket) => string | null;
  /** True while a request on the connection is in flight. */
  readonly isServing: (socket: Socket) => boolean;
}

/**
 * Limits the open connections, in total and per address. At a limit, a new connection replaces the longest
 * idle one. A connection is idle while no byte has arrived since its last answer.
 */
export class ConnectionLimits {
  readonly #limits: Limits;
  /** The open connections and their addresses. */
  readonly #addresses = new Map<Socket, string | null>();
  /** The bytes read until the last answer. The oldest answer is first. */
  readonly #readBefore = new Map<Socket, number>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Accepts a connection. Closes it at a limit when no other connection is idle. */
  add(socket: Socket): void {
    const address = this.#limits.addressOf(socket);
    if (!this.#makeSpaceFor(address)) {
      socket.destroy();
      return;
    }
    this.#addresses.set(socket, address);
    this.#readBefore.set(socket, socket.bytesRead);
    socket.once('close', () => this.#remove(socket));
  }

  /** Call it after each answer. The connection is idle until the next byte arrives. */
  answered(socket: Socket): void {
    if (!this.#addresses.has(socket)) return;
    this.#readBefore.delete(socket);
    this.#readBefore.set(socket, socket.bytesRead);
  }

  /** @returns false when a limit is reached and no connection is idle. */
  #makeSpaceFor(address: string | null): boolean {
    const { max, perAddressMax } = this.#limits;
    const isSame = (socket: Socket): boolean => this.#addresses.get(socket) === address;
    const ofAddress =
      address === null || perAddressMax === 0 ? 0 : [...this.#addresses.keys()].filter(isSame).length;
    if (perAddressMax > 0 && ofAddress >= perAddressMax) return this.#closeLongestIdle(isSame);
    return this.#addresses.size < max || this.#closeLongestIdle(() => true);
  }

  #closeLongestIdle(among: (socket: Socket) => boolean): boolean {
    for (const [socket, bytesRead] of this.#readBefore) {
      if (!among(socket)) continue;
      if (socket.bytesRead === bytesRead && !this.#limits.isServing(socket)) {
        this.#remove(socket);
        socket.destroy();
        return true;
      }
      // The connection is busy. Its next answer adds it again, so we check it only once per answer.
      this.#readBefore.delete(socket);
    }
    return false;
  }

  #remove(socket: Socket): void {
    this.#addresses.delete(socket);
    this.#readBefore.delete(socket);
  }
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/**
 * Returns the network. Its connections count together. Returns null for loopback, where a local proxy runs,
 * and for a closed socket.
 */
export function clientNetwork({ remoteAddress = '' }: Pick<Socket, 'remoteAddress'>): string | null {
  const isLoopback = LOOPBACK.check(remoteAddress, isIPv6(remoteAddress) ? 'ipv6' : 'ipv4');
  return isLoopback ? null : networkOf(remoteAddress);
}
