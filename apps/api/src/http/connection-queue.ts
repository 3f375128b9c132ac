import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * At this many waiting requests the queue pauses the connection. Requests that were already read wait, too.
 */
const WAITING_MAX = 2;

/** A request with its response. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Serves a connection's requests in order, one at a time: answers leave in order (RFC 9112 9.3.2). */
export interface ConnectionQueue {
  /** The request in flight. */
  readonly current: Exchange | null;
  /** True while the last answered request has not arrived completely. */
  readonly owesRest: boolean;
  add(exchange: Exchange): void;
  /** Drops the waiting requests. The client may send them again (RFC 9112 9.3.1). */
  dropWaiting(): void;
}

/** A client that sends requests without waiting for answers delays only its own connection. */
export function createConnectionQueue(socket: Socket, serve: RequestListener): ConnectionQueue {
  const waiting: Exchange[] = [];
  let current: Exchange | null = null;
  // Keep no complete request: it would hold its body in memory on an idle connection.
  let unfinished: IncomingMessage | null = null;
  let paused = false;

  function next(): void {
    // The last answer closed the connection, so the waiting requests cannot be answered.
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
