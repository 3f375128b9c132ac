import type { Socket } from 'node:net';

/** A POST, ready to be sent. */
export interface OutgoingPost {
  readonly url: URL;
  /** All of them but Host and Connection; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * What a transport tells of one request and its answer, in this order. An error may come in place of any of it; the end
 * may follow an error. Nothing is told before `post` has returned.
 */
export interface ExchangeListener {
  /** The connection, new or from the pool, before the first byte of the request is written to it. */
  onSocket(socket: Socket): void;
  /** A head of status 100 or 102 to 199. */
  onInterimHead(): void;
  /** The complete final head. A 101 is final; its connection is not the pool's any more. */
  onHead(statusCode: number): void;
  onBody(chunk: Buffer): void;
  /** The body has ended, complete or not. */
  onEnd(): void;
  /** The connection was not made, or broke. Told once, as Node told it. */
  onError(error: unknown): void;
  /** No request could be made: nothing has left this process, and the fault is ours. */
  onUnsendable(error: unknown): void;
}

/** One request under way. */
export interface Exchange {
  /** The kernel has taken all of the request. */
  isSent(): boolean;
  /** Ends it wherever it is, and closes the connection, unless the exchange is complete: then the pool has it. */
  cut(): void;
}

/**
 * An HTTP client: it sends one request and tells what comes. It follows nothing, decodes nothing, repeats nothing, and reads
 * a head of at most 16 KiB. Time and the length of the body are the caller's to limit.
 */
export interface Transport {
  /** @throws what `onUnsendable` would be told, if it is known at once */
  post(post: OutgoingPost, listener: ExchangeListener): Exchange;
}
