import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';

/** One request that the receiver got. */
export interface ReceivedRequest {
  method: string;
  /** Path and query of the request line. */
  path: string;
  headers: IncomingHttpHeaders;
  /** Names and values in turn, in their order and spelling on the wire. */
  rawHeaders: string[];
  /** The whole body. Empty when the behaviour answers before it reads. */
  body: Buffer;
  /** The arrival of the head, by `performance.now()`. */
  receivedAtMs: number;
  /** The same moment on the wall clock. */
  receivedAt: Date;
  /** The number of the connection, from 1. */
  socketId: number;
  /** The SNI name. Null when the sender gave none, because it addressed an IP literal. */
  serverName: string | null;
  /** The status that was sent. Null when none was sent yet, or the behaviour sends none. */
  status: number | null;
}

/** The tools with which a behaviour answers. */
export interface Exchange {
  request: ReceivedRequest;
  /** Sends a correct answer. */
  response: ServerResponse;
  /** Sends any bytes, inside TLS. */
  socket: TLSSocket;
  /** Ends the connection with a TCP RST. */
  reset: () => void;
  /** Repeats an action until the connection closes. */
  every: (intervalMs: number, action: () => void) => void;
  /** Writes a chunk repeatedly, as fast as the client reads, until the connection closes. */
  pump: (chunk: string | Buffer) => void;
}

/** The answer to one request. */
export interface Behaviour {
  /** Reported as `ReceivedRequest.status`. */
  status: number | null;
  /** True: plays when the head has arrived, and leaves the body unread. */
  beforeBody?: boolean;
  play(exchange: Exchange): void | Promise<void>;
}

/** A behaviour, or a function that chooses one when the request's body has arrived. */
export type Reaction = Behaviour | ((request: ReceivedRequest) => Behaviour);
