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

/** Limits the open connections, in total and per address. */
export interface ConnectionLimits {
  /**
   * Accepts a connection. At a limit it closes an idle connection, or the new one when no connection is idle.
   */
  add(socket: Socket): void;
  /** Call it after each answer. The connection is idle until the next byte arrives. */
  answered(socket: Socket): void;
}

/** An idle connection got no byte since its last answer. A new connection replaces the longest idle one. */
export function createConnectionLimits(limits: Limits): ConnectionLimits {
  const { max, perAddressMax, addressOf, isServing } = limits;
  /** The open connections and their addresses. */
  const addresses = new Map<Socket, string | null>();
  /** The bytes read until the last answer. The oldest answer is first. */
  const readBefore = new Map<Socket, number>();

  function closeLongestIdle(among: (socket: Socket) => boolean): boolean {
    for (const [socket, bytesRead] of readBefore) {
      if (!among(socket)) continue;
      if (socket.bytesRead === bytesRead && !isServing(socket)) {
        remove(socket);
        socket.destroy();
        return true;
      }
      // The connection is busy. Its next answer adds it again, so we check it only once per answer.
      readBefore.delete(socket);
    }
    return false;
  }

  function remove(socket: Socket): void {
    addresses.delete(socket);
    readBefore.delete(socket);
  }

  function hasRoomFor(address: string | null): boolean {
    const isSame = (socket: Socket): boolean => addresses.get(socket) === address;
    const ofAddress =
      address === null || perAddressMax === 0 ? 0 : [...addresses.keys()].filter(isSame).length;
    if (perAddressMax > 0 && ofAddress >= perAddressMax) return closeLongestIdle(isSame);
    return addresses.size < max || closeLongestIdle(() => true);
  }

  return {
    add(socket) {
      const address = addressOf(socket);
      if (!hasRoomFor(address)) {
        socket.destroy();
        return;
      }
      addresses.set(socket, address);
      readBefore.set(socket, socket.bytesRead);
      socket.once('close', () => remove(socket));
    },
    answered(socket) {
      if (!addresses.has(socket)) return;
      readBefore.delete(socket);
      readBefore.set(socket, socket.bytesRead);
    },
  };
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/**
 * Returns the network whose connections count together. Returns null for loopback, where a local proxy runs,
 * and for a closed socket.
 */
export function clientNetwork({ remoteAddress = '' }: Pick<Socket, 'remoteAddress'>): string | null {
  const isLoopback = LOOPBACK.check(remoteAddress, isIPv6(remoteAddress) ? 'ipv6' : 'ipv4');
  return isLoopback ? null : networkOf(remoteAddress);
}
