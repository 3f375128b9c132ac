import type { Socket } from 'node:net';

export type Direction = 'toServer' | 'toClient';

/**
 * The bytes of one direction go on (`pass`), wait (`hold`), vanish (`drop`), or stay unread. When they
 * vanish, no side learns it. When they stay unread, the sender's socket fills.
 */
export type FlowMode = 'pass' | 'hold' | 'drop' | 'unread';

/** One direction of a proxied connection. */
export interface Flow {
  setMode(mode: FlowMode): void;
  /** The number of waiting bytes. */
  readonly heldBytes: number;
}

export interface FlowOptions {
  readonly mode: FlowMode;
  /** Gets every chunk first, and may change the mode of this flow or of the opposite one. */
  readonly inspect: (chunk: Buffer) => void;
}

const HELD_BYTES_MAX = 32 * 1024 * 1024;

/** Null: the end of the stream. */
type Chunk = Buffer | null;

export function createFlow(source: Socket, target: Socket, options: FlowOptions): Flow {
  let { mode } = options;
  let heldBytes = 0;
  const waiting: Chunk[] = [];

  function send(chunk: Chunk): void {
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
    for (let next = waiting[0]; next !== undefined && mode === 'pass'; next = waiting[0]) {
      waiting.shift();
      send(next);
    }
    if (mode === 'unread') source.pause();
    else if (heldBytes < HELD_BYTES_MAX && !target.writableNeedDrain) source.resume();
  }

  function take(chunk: Chunk): void {
    if (mode === 'drop') return;
    heldBytes += chunk?.length ?? 0;
    waiting.push(chunk);
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
    setMode(next) {
      mode = next;
      if (mode === 'drop') {
        waiting.length = 0;
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
