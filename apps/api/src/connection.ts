import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { BlockList, isIPv6 } from 'node:net';
import type { Socket } from 'node:net';
import { networkOf } from '@postrider/limits';
import { parserStatusLine } from '@postrider/runtime';
import { breakBody } from './http/body-fault.ts';
import type { BodyFault } from './http/body-fault.ts';
import { newRequestId } from './http/request-context.ts';
import { READ_OFF_BYTES_MAX } from './http/unread-body.ts';

/* `apps/api/ARCHITECTURE.md` says what each of these limits is for. */

/** In milliseconds. `server.ts` has the values. */
interface ConnectionTimeouts {
  readonly keepAliveTimeout: number;
  readonly stalledTimeout: number;
  readonly unreadTimeoutMs: number;
  readonly lingerTimeoutMs: number;
}

/** A request with its response. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Requests that may wait for the answer in flight. With one more, the connection ends after that answer. */
const WAITING_MAX = 32;

/** How often we look for progress within `unreadTimeoutMs`. */
const UNREAD_CHECKS = 6;

/** Why a body breaks off, by the code of Node's error. Every other code stands for malformed HTTP. */
const BODY_FAULTS: Readonly<Record<string, BodyFault>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'did not arrive in time',
};

/**
 * Answers must leave in request order (RFC 9112 9.3.2). So the connection serves one request at a time. A
 * client that sends requests without waiting for answers delays only its own connection.
 */
export class Connection {
  /** Connections with the same address count together. Null: no limit per address. */
  readonly address: string | null;
  readonly #socket: Socket;
  readonly #serve: RequestListener;
  readonly #timeouts: ConnectionTimeouts;
  readonly #waiting: Exchange[] = [];
  /** The request in flight. */
  #current: Exchange | null = null;
  /**
   * The answered request, if its body still arrives. A complete request is not kept: it would hold its body
   * in memory.
   */
  #unfinished: IncomingMessage | null = null;
  /** The connection ends after the answer in flight. */
  #isEnding = false;
  /** No byte arrived within Node's time limit for headers, and no request has arrived since. */
  #isUnused = false;
  /** `socket.bytesRead` at the last answer. */
  #bytesAnswered: number;
  /** Node's own listeners of `drain`. They let a long answer continue. */
  readonly #drainListeners: readonly (() => void)[];

  constructor(socket: Socket, address: string | null, serve: RequestListener, timeouts: ConnectionTimeouts) {
    this.address = address;
    this.#socket = socket;
    this.#serve = serve;
    this.#timeouts = timeouts;
    this.#bytesAnswered = socket.bytesRead;
    this.#drainListeners = socket.listeners('drain') as (() => void)[];
    // After a CONNECT Node listens to no error of the socket any more.
    socket.on('error', () => socket.destroy());
    socket.once('end', () => this.#breakUnfinished());
    closeInTwoSteps(socket, timeouts.lingerTimeoutMs);
    closeWhenUnread(socket, timeouts.unreadTimeoutMs);
    socket.once('close', () => this.#waiting.splice(0));
  }

  /**
   * True while no byte has arrived since the last answer. Node sets no further time limit for the headers of
   * an unused connection. So bytes that are no request leave it idle.
   */
  get isIdle(): boolean {
    return this.#isUnused || (this.#current === null && this.#socket.bytesRead === this.#bytesAnswered);
  }

  add(exchange: Exchange): void {
    const { stalledTimeout } = this.#timeouts;
    if (this.#isUnused) this.#socket.setTimeout(stalledTimeout);
    this.#isUnused = false;
    this.#waiting.push(exchange);
    if (this.#current === null) this.#next();
    else if (this.#waiting.length > WAITING_MAX) {
      parseNoMore(this.#socket);
      this.#endAfterAnswer();
    }
  }

  /** Closes the connection after the answer in progress, unless its headers are sent. */
  closeAfterAnswer(): void {
    const response = this.#current?.response;
    if (response?.headersSent === false) response.setHeader('connection', 'close');
  }

  /**
   * Ends the connection after a CONNECT. A request in flight keeps its own answer. Node has removed its own
   * listeners from the socket. A long answer needs Node's listeners of `drain`, so they are put back.
   */
  refuseTunnel(): void {
    if (!this.#endAfterAnswer()) {
      this.#refuse('404 Not Found');
      return;
    }
    for (const listener of this.#drainListeners) this.#socket.on('drain', listener);
  }

  /** Answers with a status line and its text, and closes the connection. */
  #refuse(statusLine: string): void {
    const text = statusLine.slice(statusLine.indexOf(' ') + 1);
    const head = [
      `HTTP/1.1 ${statusLine}`,
      'Content-Type: text/plain; charset=utf-8',
      `Content-Length: ${text.length}`,
      `x-request-id: ${newRequestId()}`,
      'x-content-type-options: nosniff',
      'cache-control: no-store',
      'Connection: close',
    ].join('\r\n');
    this.#socket.write(`${head}\r\n\r\n${text}`);
    this.#socket.destroySoon();
  }

  /**
   * Ends the connection after bytes that Node could not parse, or after a time limit of Node. A request in
   * flight keeps its own answer: an error must not hide what the request has done. Node may call this several
   * times for one connection.
   */
  fail({ code = '' }: NodeJS.ErrnoException): void {
    if (this.#socket.writableEnded) return; // the last answer is sent, and later bytes are dropped
    // Proxies open connections in advance, but Node's time for a first head begins with the connection.
    if (code === 'ERR_HTTP_REQUEST_TIMEOUT' && this.#socket.bytesRead === 0) {
      this.#isUnused = true;
      this.#socket.setTimeout(this.#timeouts.keepAliveTimeout);
    } else if (code === 'ECONNRESET' || !this.#socket.writable) this.#socket.destroy();
    // The bytes may be the rest of a request that already has its answer.
    else if (this.#current === null && this.#unfinished?.complete === false) this.#socket.destroySoon();
    else if (!this.#endAfterAnswer(BODY_FAULTS[code])) this.#refuse(parserStatusLine(code));
  }

  /** The client has closed its side. Node reports an incomplete request, unless it asks to upgrade. */
  #breakUnfinished(): void {
    const last = this.#waiting.at(-1) ?? this.#current;
    if (last?.request.complete === false) this.#endAfterAnswer();
  }

  /** Ends the connection after the answer in flight. @returns false when there is none */
  #endAfterAnswer(fault: BodyFault = 'is not well-formed HTTP'): boolean {
    // The client may send the waiting requests again (RFC 9112 9.3.1).
    this.#waiting.splice(0);
    if (this.#current === null) return false;
    const { request, response } = this.#current;
    if (!request.complete) breakBody(request, fault);
    if (!response.headersSent) response.setHeader('connection', 'close');
    this.#isEnding = true;
    return true;
  }

  #next(): void {
    if (this.#isEnding) this.#socket.destroySoon();
    const { destroyed, writableEnded, bytesRead } = this.#socket;
    // The last answer closed the connection, so the waiting requests cannot be answered.
    if (destroyed || writableEnded) this.#waiting.splice(0);
    this.#unfinished = this.#current?.request.complete === false ? this.#current.request : null;
    if (this.#current !== null) this.#bytesAnswered = bytesRead;
    this.#current = this.#waiting.shift() ?? null;
    if (this.#current === null) return;
    this.#current.response.once('close', () => this.#next());
    this.#serve(this.#current.request, this.#current.response);
  }
}

/**
 * One read of 64 KiB may hold 3,600 requests, which take 9 MB. Node parses them all at once. Pausing the
 * socket does not help, because Node resumes it after each request. Its parser asks `onIncoming` about each
 * head. The answer 2 stands for another protocol: the parser skips the rest of the read.
 */
function parseNoMore(socket: Socket): void {
  const { parser } = socket as Socket & {
    readonly parser: { onIncoming: (request: IncomingMessage & { upgrade: boolean }) => number };
  };
  parser.onIncoming = (request) => {
    request.upgrade = false; // otherwise Node destroys the connection, and with it the answer in flight
    return 2;
  };
}

/**
 * Makes `socket.destroySoon()` close the connection in two steps (RFC 9112 9.6). Node and we call that method
 * after the last answer. Our side closes first. The rest closes when the client closes its side, or after
 * `timeoutMs`. Closing at once with unread bytes would reset the connection, and the client could lose the
 * answer.
 */
function closeInTwoSteps(socket: Socket, timeoutMs: number): void {
  socket.destroySoon = () => {
    if (socket.writableEnded) return;
    socket.end();
    if (!socket.readableEnded) discardInput(socket, timeoutMs);
  };
}

/** Drops the bytes that still arrive. The socket destroys itself when both sides have ended. */
function discardInput(socket: Socket, timeoutMs: number): void {
  let bytes = 0;
  socket.removeAllListeners('data'); // the HTTP parser listens no more: no further request is served
  socket.on('data', (chunk) => {
    bytes += chunk.length;
    if (bytes > READ_OFF_BYTES_MAX) socket.destroy();
  });
  socket.once('finish', () => {
    const timer = setTimeout(() => socket.destroy(), timeoutMs);
    socket.once('close', () => clearTimeout(timer));
  });
  socket.resume();
}

/**
 * Closes the connection when its client takes no byte of an answer for `timeoutMs`. Node's own time limit
 * begins again when the client sends a byte. Write long answers in pieces: only a further piece shows that
 * the client reads.
 */
function closeWhenUnread(socket: Socket, timeoutMs: number): void {
  let bytesBefore = 0;
  let checks = 0;
  const timer = setInterval(() => {
    const { bytesWritten, writableLength } = socket;
    checks = writableLength > 0 && bytesWritten === bytesBefore ? checks + 1 : 0;
    bytesBefore = bytesWritten;
    if (checks === UNREAD_CHECKS) socket.destroy();
  }, timeoutMs / UNREAD_CHECKS);
  socket.once('close', () => clearInterval(timer));
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/**
 * Returns the client's network: an IPv4 address, or an IPv6 /64. The limit per address counts connections per
 * network. Returns null for loopback, where a local proxy runs, and for a closed socket.
 */
export function clientNetwork({ remoteAddress = '' }: Pick<Socket, 'remoteAddress'>): string | null {
  const isLoopback = LOOPBACK.check(remoteAddress, isIPv6(remoteAddress) ? 'ipv6' : 'ipv4');
  return isLoopback ? null : networkOf(remoteAddress);
}
