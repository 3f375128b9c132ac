import type { Socket } from 'node:net';
import { isNativeError } from 'node:util/types';
import type { EndpointResult, Failure } from './endpoint-result.ts';
import { describeFailure, failed, isInHandshake, refused } from './failure.ts';
import { RefusedError } from './guard/address-guard.ts';
import type { Exchange, ExchangeListener, OutgoingPost, Transport } from './transport/transport.ts';

/** The connection is cut after this many bytes of the body. The log keeps the first `EXCERPT_BYTES_MAX`. */
const BODY_BYTES_MAX = 16_384;
const EXCERPT_BYTES_MAX = 1024;

/** The limit of interim (1xx) heads. A flood would keep a CPU core busy until the deadline. */
const INTERIM_HEADS_MAX = 32;

/** The values that all attempts of a client share. */
export interface AttemptEnvironment {
  transport: Transport;
  timeoutMs: number;
  /** Makes the next request to this host open a new connection. An empty port is the default one. */
  closeIdle(host: string, port: string): void;
  isClosed(): boolean;
}

/**
 * One attempt of a delivery. It has one deadline, one answer and at most two requests. It makes a second
 * request only when a pooled connection was dead. The attempt is answered as soon as a complete final head
 * has arrived. After that, a fault in the body only ends it earlier.
 */
export class Attempt implements ExchangeListener {
  readonly #environment: AttemptEnvironment;
  readonly #post: OutgoingPost;
  readonly #resolve: (answer: EndpointResult) => void;
  readonly #reject: (error: Error) => void;
  readonly #deadline: NodeJS.Timeout;
  #settled = false;
  #retried = false;
  #exchange: Exchange | null = null;
  #socket: Socket | null = null;
  #socketBytesBefore = 0;
  #interimHeads = 0;
  #statusCode: number | null = null;
  #bodyBytes = 0;
  #excerptBytes = 0;
  #excerpt: Buffer[] = [];

  static run(environment: AttemptEnvironment, post: OutgoingPost): Promise<EndpointResult> {
    return new Promise((resolve, reject) => {
      new Attempt(environment, post, resolve, reject).#send();
    });
  }

  private constructor(
    environment: AttemptEnvironment,
    post: OutgoingPost,
    resolve: (answer: EndpointResult) => void,
    reject: (error: Error) => void,
  ) {
    this.#environment = environment;
    this.#post = post;
    this.#resolve = resolve;
    this.#reject = reject;
    // A client's time limits do not fire after a 101 or while a request waits for a socket. This timer always
    // fires. A busy process may have an unread answer at the deadline: setImmediate lets Node read it first.
    this.#deadline = setTimeout(() => setImmediate(() => this.#expire()), environment.timeoutMs);
  }

  #send(): void {
    try {
      this.#exchange = this.#environment.transport.post(this.#post, this);
    } catch (error) {
      this.onUnsendable(error);
    }
  }

  onSocket(socket: Socket): void {
    this.#socket = socket;
    this.#socketBytesBefore = socket.bytesRead;
  }

  onInterimHead(): void {
    this.#interimHeads += 1;
    if (this.#interimHeads > INTERIM_HEADS_MAX) {
      this.#settle(failed('protocol', `more than ${INTERIM_HEADS_MAX} interim responses`));
    }
  }

  onHead(statusCode: number): void {
    this.#statusCode = statusCode;
    if (statusCode !== 101) return;
    // Node treats a 101 without upgrade headers as an ordinary answer, and would reuse the connection.
    this.#socket?.destroy();
    this.#finish();
  }

  onBody(chunk: Buffer): void {
    const left = EXCERPT_BYTES_MAX - this.#excerptBytes;
    if (left > 0) {
      // Copies the bytes: a slice would keep the whole chunk in memory.
      const part = Buffer.from(chunk.subarray(0, left));
      this.#excerpt.push(part);
      this.#excerptBytes += part.length;
    }
    this.#bodyBytes += chunk.length;
    if (this.#bodyBytes > BODY_BYTES_MAX) this.#finish();
  }

  onEnd(): void {
    this.#finish();
  }

  #finish(): void {
    if (this.#statusCode === null) return;
    const excerpt = Buffer.concat(this.#excerpt, this.#excerptBytes);
    this.#settle({ kind: 'answered', statusCode: this.#statusCode, excerpt });
  }

  #expire(): void {
    if (this.#statusCode === null)
      this.#settle(failed('timeout', `timeout after ${this.#environment.timeoutMs} ms`));
    else this.#finish();
  }

  onUnsendable(error: unknown): void {
    this.#settle(asError(error));
  }

  onError(error: unknown): void {
    if (this.#statusCode !== null) this.#finish();
    else if (error instanceof RefusedError) this.#settle(refused(error.message));
    else if (this.#isStaleConnection(error)) this.#sendAgain();
    else this.#settle(this.#describe(error) ?? asError(error));
  }

  /**
   * True when the endpoint closed a pooled connection just before this request. No byte of an answer came,
   * and neither side is at fault. Node's `reusedSocket` misses a connection that went straight to a waiting
   * request.
   */
  #isStaleConnection(error: unknown): boolean {
    const code = (error as NodeJS.ErrnoException).code;
    return (
      !this.#retried &&
      !this.#environment.isClosed() &&
      (code === 'ECONNRESET' || code === 'EPIPE') &&
      this.#socketBytesBefore > 0 &&
      this.#socket?.bytesRead === this.#socketBytesBefore
    );
  }

  #sendAgain(): void {
    if (this.#settled) return;
    this.#retried = true;
    const { hostname, port } = this.#post.url;
    this.#environment.closeIdle(hostname, port);
    this.#send();
  }

  #describe(error: unknown): Failure | null {
    const inHandshake = isInHandshake(this.#socket);
    return describeFailure(error, { hostname: this.#post.url.hostname, inHandshake });
  }

  #settle(outcome: EndpointResult | Error): void {
    if (this.#settled) return;
    this.#settled = true;
    clearTimeout(this.#deadline);
    this.#release();
    if (isNativeError(outcome)) this.#reject(outcome);
    else this.#resolve(outcome);
  }

  /** Cuts the connection, unless request and answer are complete. Then it is already back in the pool. */
  #release(): void {
    const exchange = this.#exchange;
    const isAnswered = this.#statusCode !== null;
    // Node may read the answer before it reports that its write has ended. It reports that once per turn of
    // the event loop.
    if (isAnswered && exchange?.isSent() === false) setImmediate(() => exchange.cut());
    else exchange?.cut();
  }
}

function asError(error: unknown): Error {
  return isNativeError(error)
    ? error
    : new Error('the request failed for an unknown reason', { cause: error });
}
