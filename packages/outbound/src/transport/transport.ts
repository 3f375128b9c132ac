import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Node's strict parser rejects a folded header, but a client must accept one (RFC 9112 5.2). The lenient
 * parser also accepts some malformed heads: `headFault` rejects those.
 */
export const LENIENT_PARSER = { insecureHTTPParser: true };

/** The fault of a head that the lenient parser accepts, with the code of the strict parser. Null: none. */
export function headFault({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): Error | null {
  const names = rawHeaders.filter((_text, index) => index % 2 === 0).map((name) => name.toLowerCase());
  const hasControl = rawHeaders.some((text) => /[\u0000-\u0008\u000a-\u001f\u007f]/.test(text));
  const isAmbiguous = names.includes('content-length') && names.includes('transfer-encoding');
  if (!hasControl && !isAmbiguous) return null;
  return Object.assign(new Error('malformed response head'), { code: 'HPE_INVALID_HEADER_TOKEN' });
}

/** The largest accepted head of an answer, in bytes. */
export const HEAD_BYTES_MAX = 16_384;

/** A POST that is ready to send. */
export interface OutgoingPost {
  readonly url: URL;
  /** All headers except Host and Connection. Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * A transport calls these methods for one request and its answer, in this order. An error ends the sequence
 * early; only `onEnd` may follow. No call comes before `post` has returned.
 */
export interface ExchangeListener {
  /** The request has its connection, new or from the pool. No byte is written yet. */
  onSocket(socket: Socket): void;
  /** A head with status 100 or 102 to 199 arrived. */
  onInterimHead(): void;
  /** The complete final head arrived. A 101 is final, and its connection does not return to the pool. */
  onHead(statusCode: number): void;
  onBody(chunk: Buffer): void;
  /** The body has ended, complete or not. Called once. */
  onEnd(): void;
  /** The connection failed or broke. Called once, with Node's error. */
  onError(error: unknown): void;
  /** The request could not be created. Nothing was sent, and the fault is ours. */
  onUnsendable(error: unknown): void;
}

/** A request in flight. */
export interface Exchange {
  /** True when the kernel has accepted the whole request. */
  isSent(): boolean;
  /** Ends the exchange and closes its connection. Does nothing after a complete exchange. */
  cut(): void;
}

/**
 * An HTTP client that sends one request and reports the answer. It follows no redirect, decodes nothing,
 * retries nothing, and accepts a head of at most `HEAD_BYTES_MAX`. The caller limits the time and the body's
 * length.
 */
export interface Transport {
  /** @throws the error for `onUnsendable`, when it is known at once. */
  post(post: OutgoingPost, listener: ExchangeListener): Exchange;
}
