import type { Socket } from 'node:net';
import { isNativeError } from 'node:util/types';
import type { EndpointAnswer, Failure } from './endpoint-answer.ts';
import { describeFailure, failed, refused } from './failure.ts';
import { RefusedError } from './guard/refused-error.ts';
import type { Exchange, ExchangeListener, OutgoingPost, Transport } from './transport/transport.ts';

/** What is read of an answer's body before the connection is cut, and what is kept of it for the log. */
const bodyBytesMax = 16_384;
const excerptBytesMax = 1024;

/** Interim (1xx) heads that are put up with. A flood of them would otherwise keep a core busy until the deadline. */
const interimHeadsMax = 32;

/** What the attempts of one client share. */
interface AttemptEnvironment {
  transport: Transport;
  timeoutMs: number;
  /** Makes sure that the next request to this host opens a connection of its own. */
  closeIdle(host: string, port: string): void;
  isClosed(): boolean;
}

/**
 * One attempt at a delivery: one deadline, one answer, and at most two requests, the second only because a pooled
 * connection turned out to be dead. The status line decides: from the moment a complete final head has arrived the
 * attempt is answered, and what becomes of the body can only end it sooner.
 */
export class Attempt implements ExchangeListener {
  readonly #environment: AttemptEnvironment;
  readonly #post: OutgoingPost;
  readonly #resolve: (answer: EndpointAnswer) => void;
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

  static run(environment: AttemptEnvironment, post: OutgoingPost): Promise<EndpointAnswer> {
    return new Promise((resolve, reject) => {
      new Attempt(environment, post, resolve, reject).#send();
    });
  }

  private constructor(
    environment: AttemptEnvironment,
    post: OutgoingPost,
    resolve: (answer: EndpointAnswer) => void,
    reject: (error: Error) => void,
  ) {
    this.#environment = environment;
    this.#post = post;
    this.#resolve = resolve;
    this.#reject = reject;
    // A client's own time limits do not fire after a 101, nor while a request waits for a socket; this one always does.
    // Where this process was kept from its sockets, an answer may be there and not read yet: it is, before the verdict.
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
    if (this.#interimHeads > interimHeadsMax) {
      this.#settle(failed('protocol', `more than ${interimHeadsMax} interim responses`));
    }
  }

  onHead(statusCode: number): void {
    this.#statusCode = statusCode;
    if (statusCode !== 101) return;
    // Without its upgrade headers Node takes it for an ordinary answer, and would use the connection again.
    this.#socket?.destroy();
    this.#finish();
  }

  onBody(chunk: Buffer): void {
    const room = excerptBytesMax - this.#excerptBytes;
    if (room > 0) {
      // A copy: a slice would hold on to the whole of the chunk.
      const part = Buffer.from(chunk.subarray(0, room));
      this.#excerpt.push(part);
      this.#excerptBytes += part.length;
    }
    this.#bodyBytes += chunk.length;
    if (this.#bodyBytes > bodyBytesMax) this.#finish();
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
   * The endpoint had closed a pooled connection just before it was used: no byte of an answer came, nobody is to blame.
   * Node's own `reusedSocket` would miss a connection that was handed on to a request waiting for one.
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
    this.#environment.closeIdle(hostname, port || '443');
    this.#send();
  }

  #describe(error: unknown): Failure | null {
    // `secureConnecting`, missing from the types of Node 20, is true until the handshake is done.
    const { secureConnecting = false } = (this.#socket ?? {}) as { secureConnecting?: boolean };
    return describeFailure(error, { hostname: this.#post.url.hostname, inHandshake: secureConnecting });
  }

  #settle(outcome: EndpointAnswer | Error): void {
    if (this.#settled) return;
    this.#settled = true;
    clearTimeout(this.#deadline);
    this.#release();
    if (isNativeError(outcome)) this.#reject(outcome);
    else this.#resolve(outcome);
  }

  /** Cuts the connection, unless request and answer are both complete: then it is back in the pool and no longer ours. */
  #release(): void {
    const exchange = this.#exchange;
    const isAnswered = this.#statusCode !== null;
    // Node may read the answer before it tells of the end of its own write, which it does once in each round of the event loop.
    if (isAnswered && exchange?.isSent() === false) setImmediate(() => exchange.cut());
    else exchange?.cut();
  }
}

function asError(error: unknown): Error {
  return isNativeError(error)
    ? error
    : new Error('the request failed for an unknown reason', { cause: error });
}
