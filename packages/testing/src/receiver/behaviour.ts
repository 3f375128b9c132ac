import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';

/** One request as the receiver got it. */
export interface ReceivedRequest {
  method: string;
  /** Path and query, as in the request line. */
  path: string;
  headers: IncomingHttpHeaders;
  /** Names and values in turn, in the order and spelling of the wire. */
  rawHeaders: string[];
  /** The whole body; empty when the behaviour answers before it reads. */
  body: Buffer;
  /** When the head arrived, on the monotonic clock of `performance.now()`. */
  receivedAtMs: number;
  /** The same moment on the wall clock. */
  receivedAt: Date;
  /** Numbers the receiver's connections from 1, in the order they were made. */
  socketId: number;
  /** The SNI name, null when the sender gave none (it addressed an IP literal). */
  serverName: string | null;
  /** The status line that was sent or begun; null when the behaviour sends none, or none yet. */
  status: number | null;
}

/** What a behaviour may use to answer. */
export interface Exchange {
  request: ReceivedRequest;
  /** For an answer by the book. */
  response: ServerResponse;
  /** For everything else: bytes written here go out as they are, inside TLS. */
  socket: TLSSocket;
  /** Ends the connection with a TCP RST. */
  reset: () => void;
  /** Repeats an action until the connection is closed. */
  every: (intervalMs: number, action: () => void) => void;
  /** Writes a chunk again and again, as fast as the other side reads, until the connection is closed. */
  pump: (chunk: string | Buffer) => void;
}

/** How one request is treated. */
export interface Behaviour {
  /** Reported as `ReceivedRequest.status`. */
  status: number | null;
  /** Play as soon as the head is there and leave the body unread. */
  beforeBody?: boolean;
  play(exchange: Exchange): void | Promise<void>;
}

/** A behaviour, or a function that chooses one for the request at hand, once its body is there. */
export type Reaction = Behaviour | ((request: ReceivedRequest) => Behaviour);
