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

/**
 * Serves a connection's requests in order, one at a time: answers leave in order (RFC 9112 9.3.2). A client
 * that sends requests without waiting for answers delays only its own connection.
 */
export class ConnectionQueue {
  readonly #socket: Socket;
  readonly #serve: RequestListener;
  readonly #waiting: Exchange[] = [];
  #current: Exchange | null = null;
  /** Never a complete request: on an idle connection it would keep its body in memory. */
  #unfinished: IncomingMessage | null = null;
  #paused = false;

  constructor(socket: Socket, serve: RequestListener) {
    this.#socket = socket;
    this.#serve = serve;
    socket.once('close', () => this.dropWaiting());
  }

  /** The request in flight. */
  get current(): Exchange | null {
    return this.#current;
  }

  /** True while the last answered request has not arrived completely. */
  get owesRest(): boolean {
    return this.#unfinished?.complete === false;
  }

  add(exchange: Exchange): void {
    this.#waiting.push(exchange);
    if (this.#current === null) this.#next();
    else if (this.#waiting.length >= WAITING_MAX) {
      this.#paused = true;
      this.#socket.pause();
    }
  }

  /** Drops the waiting requests. The client may send them again (RFC 9112 9.3.1). */
  dropWaiting(): void {
    this.#waiting.splice(0);
  }

  #next(): void {
    // The last answer closed the connection, so the waiting requests cannot be answered.
    if (this.#socket.destroyed || this.#socket.writableEnded) this.dropWaiting();
    this.#unfinished = this.#current?.request.complete === false ? this.#current.request : null;
    this.#current = this.#waiting.shift() ?? null;
    if (this.#paused && this.#waiting.length < WAITING_MAX) {
      this.#paused = false;
      this.#socket.resume();
    }
    if (this.#current === null) return;
    this.#current.response.once('close', () => this.#next());
    this.#serve(this.#current.request, this.#current.response);
  }
}
