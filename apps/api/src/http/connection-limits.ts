import type { Socket } from 'node:net';

interface Limits {
  readonly max: number;
  /** 0: none. */
  readonly perAddressMax: number;
  /** Whose connections count together. Null: not counted by address. */
  readonly addressOf: (socket: Socket) => string | null;
  /** Whether a request of the connection is being served. */
  readonly isServing: (socket: Socket) => boolean;
}

/** How many connections there may be, in all and of one address. */
export interface ConnectionLimits {
  /**
   * Takes a new connection in, in place of an idle one where there are as many as there may be. When none is idle, the new one
   * is closed.
   */
  add(socket: Socket): void;
  /** An answer has left: the connection is idle until a byte of the next request comes. */
  answered(socket: Socket): void;
}

/** At a limit the longest idle connection is closed: no byte of a request has come on it since its last answer, or at all. */
export function createConnectionLimits(limits: Limits): ConnectionLimits {
  const { max, perAddressMax, addressOf, isServing } = limits;
  /** The open connections, each with the address it counts for. */
  const addresses = new Map<Socket, string | null>();
  /** How many bytes had been read at the last answer; the longest ago first. */
  const readBefore = new Map<Socket, number>();

  function closeLongestIdle(among: (socket: Socket) => boolean): boolean {
    for (const [socket, bytesRead] of readBefore) {
      if (!among(socket)) continue;
      if (socket.bytesRead === bytesRead && !isServing(socket)) {
        remove(socket);
        socket.destroy();
        return true;
      }
      // It comes back with its next answer. So nobody looks at it twice.
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
