import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How many requests may wait before the connection is read no further; what was read with them waits, too. */
const WAITING_MAX = 2;

/** A request with its response. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The requests of one connection: answers leave in order (RFC 9112 9.3.2), so they are served in order, one at a time. */
export interface ConnectionQueue {
  /** The one being served. */
  readonly current: Exchange | null;
  /** Whether the last request that was answered has not come whole yet. */
  readonly owesRest: boolean;
  add(exchange: Exchange): void;
  /** Those that wait are never served: a client may send them again (RFC 9112 9.3.1). */
  dropWaiting(): void;
}

/**
 * A client that sends many requests without waiting for their answers keeps only its own connection busy, and is
 * read no further while some wait.
 */
export function createConnectionQueue(socket: Socket, serve: RequestListener): ConnectionQueue {
  const waiting: Exchange[] = [];
  let current: Exchange | null = null;
  // Nothing more of what was served is kept: an idle connection would hold its last body.
  let unfinished: IncomingMessage | null = null;
  let paused = false;

  function next(): void {
    // The last answer closed the connection: nothing more can be answered on it.
    if (socket.destroyed || socket.writableEnded) waiting.splice(0);
    unfinished = current?.request.complete === false ? current.request : null;
    current = waiting.shift() ?? null;
    if (paused && waiting.length < WAITING_MAX) {
      paused = false;
      socket.resume();
    }
    if (current === null) return;
    current.response.once('close', next);
    serve(current.request, current.response);
  }
  const dropWaiting = (): void => void waiting.splice(0);
  socket.once('close', dropWaiting);

  return {
    get current() {
      return current;
    },
    get owesRest() {
      return unfinished?.complete === false;
    },
    add(exchange) {
      waiting.push(exchange);
      if (current === null) next();
      else if (waiting.length >= WAITING_MAX) {
        paused = true;
        socket.pause();
      }
    },
    dropWaiting,
  };
}
