import type { Socket } from 'node:net';

export type Direction = 'toServer' | 'toClient';

/**
 * The bytes of one direction go on, wait, vanish, or stay unread. When they vanish, no side learns it. When
 * they stay unread, the sender's socket fills.
 */
export type FlowMode = 'pass' | 'hold' | 'drop' | 'unread';

/** One direction of a proxied connection. */
export interface Flow {
  setMode(mode: FlowMode): void;
  setDelay(ms: number): void;
  /** The number of waiting bytes. */
  readonly heldBytes: number;
}

export interface FlowOptions {
  readonly mode: FlowMode;
  readonly delayMs: number;
  /** Gets every chunk first, and may change the mode of this flow or of the opposite one. */
  readonly inspect: (chunk: Buffer) => void;
}

const HELD_BYTES_MAX = 32 * 1024 * 1024;

interface Parcel {
  /** Null: the end of the stream. */
  readonly chunk: Buffer | null;
  readonly dueMs: number;
}

export function createFlow(source: Socket, target: Socket, options: FlowOptions): Flow {
  let { mode, delayMs } = options;
  let timer: NodeJS.Timeout | null = null;
  let heldBytes = 0;
  const parcels: Parcel[] = [];

  function send({ chunk }: Parcel): void {
    if (chunk === null) {
      target.end();
      return;
    }
    heldBytes -= chunk.length;
    if (target.destroyed || target.write(chunk)) return;
    source.pause();
    target.once('drain', () => source.resume());
  }

  function pump(): void {
    for (let next = parcels[0]; next !== undefined && mode === 'pass'; next = parcels[0]) {
      const waitMs = next.dueMs - performance.now();
      if (waitMs > 0) {
        timer ??= setTimeout(() => {
          timer = null;
          pump();
        }, waitMs);
        return;
      }
      parcels.shift();
      send(next);
    }
    if (mode === 'unread') source.pause();
    else if (heldBytes < HELD_BYTES_MAX && !target.writableNeedDrain) source.resume();
  }

  function take(chunk: Buffer | null): void {
    if (mode === 'drop') return;
    heldBytes += chunk?.length ?? 0;
    parcels.push({ chunk, dueMs: performance.now() + delayMs });
    if (heldBytes >= HELD_BYTES_MAX) source.pause();
    pump();
  }

  source.on('data', (chunk: Buffer) => {
    options.inspect(chunk);
    take(chunk);
  });
  source.on('end', () => take(null));
  source.on('close', (broken) => {
    if (broken && mode !== 'drop') resetConnection(target);
  });
  return {
    get heldBytes() {
      return heldBytes;
    },
    setDelay: (ms) => void (delayMs = ms),
    setMode(next) {
      mode = next;
      if (mode === 'drop') {
        parcels.length = 0;
        heldBytes = 0;
      }
      pump();
    },
  };
}

/**
 * Ends a connection with a reset. While a shutdown is pending, libuv refuses a reset (EINVAL), so the socket
 * is closed instead.
 */
export function resetConnection(socket: Socket): void {
  if (socket.writableEnded && !socket.writableFinished) socket.destroy();
  else socket.resetAndDestroy();
}
