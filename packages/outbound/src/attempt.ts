import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { isNativeError } from 'node:util/types';
import type { Got, Request } from 'got';
import type { EndpointAnswer, EndpointRequest, Failure } from './endpoint-answer.ts';
import type { EarlyConnection } from './early-connections.ts';
import { describeFailure, failed, refused } from './failure.ts';
import { RefusedError } from './guard/refused-error.ts';

/** What is read of an answer's body before the connection is cut, and what is kept of it for the log. */
const bodyBytesMax = 16_384;
const excerptBytesMax = 1024;

/** Interim (1xx) heads that are put up with. A flood of them would otherwise keep a core busy until the deadline. */
const interimHeadsMax = 32;

/** What the attempts of one client share. */
interface AttemptEnvironment {
  http: Got;
  timeoutMs: number;
  /** Connects before there is a request. Null: the request may go its way at once. */
  connectEarly(host: string, port: string): EarlyConnection | null;
  /** Makes sure that the next request to this host opens a connection of its own. */
  closeIdle(host: string, port: string): void;
}

/**
 * One attempt at a delivery: one deadline, one answer, and at most two requests, the second only because a pooled
 * connection turned out to be dead. The status line decides: from the moment a complete final head has arrived the
 * attempt is answered, and what becomes of the body can only end it sooner.
 */
export class Attempt {
  readonly #environment: AttemptEnvironment;
  readonly #url: URL;
  readonly #request: EndpointRequest;
  readonly #resolve: (answer: EndpointAnswer) => void;
  readonly #reject: (error: Error) => void;
  readonly #deadline: NodeJS.Timeout;
  #settled = false;
  #retried = false;
  #early: EarlyConnection | null = null;
  #stream: Request | null = null;
  #native: ClientRequest | null = null;
  #socket: TLSSocket | null = null;
  #socketBytesBefore = 0;
  #interimHeads = 0;
  #statusCode: number | null = null;
  #bodyBytes = 0;
  #excerptBytes = 0;
  #excerpt: Buffer[] = [];

  static run(environment: AttemptEnvironment, url: URL, request: EndpointRequest): Promise<EndpointAnswer> {
    return new Promise((resolve, reject) => {
      new Attempt(environment, url, request, resolve, reject).#connect();
    });
  }

  private constructor(
    environment: AttemptEnvironment,
    url: URL,
    request: EndpointRequest,
    resolve: (answer: EndpointAnswer) => void,
    reject: (error: Error) => void,
  ) {
    this.#environment = environment;
    this.#url = url;
    this.#request = request;
    this.#resolve = resolve;
    this.#reject = reject;
    // got's own time limits do not fire after a 101, nor while a request waits for a socket; this one always does.
    // Where this process was kept from its sockets, an answer may be there and not read yet: it is, before the verdict.
    this.#deadline = setTimeout(() => setImmediate(() => this.#expire()), environment.timeoutMs);
  }

  #connect(): void {
    this.#early = this.#environment.connectEarly(this.#url.hostname, this.#port);
    if (this.#early === null) this.#send();
    else
      this.#early.made.then(
        () => this.#send(),
        (error: unknown) => this.#failToConnect(error),
      );
  }

  get #port(): string {
    return this.#url.port || '443';
  }

  #send(): void {
    if (this.#settled) return;
    const { body, headers } = this.#request;
    this.#native = null;
    const stream = this.#environment.http.stream.post(this.#url, { body, headers });
    this.#stream = stream;
    stream.on('error', (error: Error) => {
      if (stream === this.#stream) this.#fail(error.cause ?? error);
    });
    stream.once('request', (native: ClientRequest) => this.#watch(native));
    stream.on('information', () => this.#countInterimHead());
    stream.once('upgrade', (response: IncomingMessage, socket: Socket) => {
      socket.destroy();
      this.#statusCode = response.statusCode ?? 101;
      this.#finish();
    });
    stream.once('response', (response: IncomingMessage) => this.#receive(stream, response));
  }

  #watch(native: ClientRequest): void {
    this.#native = native;
    // got listens for one error; a connection that dies twice would end the process.
    native.on('error', () => undefined);
    native.once('socket', (socket: TLSSocket) => {
      this.#early?.discard(); // it has another: the early one would grow old
      this.#socket = socket;
      this.#socketBytesBefore = socket.bytesRead;
    });
  }

  #countInterimHead(): void {
    this.#interimHeads += 1;
    if (this.#interimHeads > interimHeadsMax) {
      this.#settle(failed('protocol', `more than ${interimHeadsMax} interim responses`));
    }
  }

  #receive(stream: Request, response: IncomingMessage): void {
    this.#statusCode = response.statusCode ?? 0;
    if (this.#statusCode === 101) {
      // Without its upgrade headers Node takes it for an ordinary answer, and would use the connection again.
      response.destroy();
      this.#socket?.destroy();
      this.#finish();
      return;
    }
    stream.on('data', (chunk: Buffer) => this.#keep(chunk));
    stream.once('end', () => this.#finish());
    stream.once('close', () => this.#finish());
  }

  #keep(chunk: Buffer): void {
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

  #failToConnect(error: unknown): void {
    if (error instanceof RefusedError) this.#settle(refused(error.message));
    else
      this.#settle(
        describeFailure(error, { hostname: this.#url.hostname, inHandshake: false }) ?? asError(error),
      );
  }

  #fail(error: unknown): void {
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
      (code === 'ECONNRESET' || code === 'EPIPE') &&
      this.#socketBytesBefore > 0 &&
      this.#socket?.bytesRead === this.#socketBytesBefore
    );
  }

  #sendAgain(): void {
    if (this.#settled) return;
    this.#retried = true;
    this.#environment.closeIdle(this.#url.hostname, this.#port);
    this.#send();
  }

  #describe(error: unknown): Failure | null {
    // Before there is a request nothing has left this process: its options are at fault, and they are ours.
    if (this.#native === null) return null;
    // `secureConnecting`, missing from the types of Node 20, is true until the handshake is done.
    const { secureConnecting = false } = (this.#socket ?? {}) as { secureConnecting?: boolean };
    return describeFailure(error, { hostname: this.#url.hostname, inHandshake: secureConnecting });
  }

  #settle(outcome: EndpointAnswer | Error): void {
    if (this.#settled) return;
    this.#settled = true;
    clearTimeout(this.#deadline);
    this.#letGo();
    if (isNativeError(outcome)) this.#reject(outcome);
    else this.#resolve(outcome);
  }

  /** Cuts the connection, unless request and answer are both complete: then it is back in the pool and no longer ours. */
  #letGo(): void {
    this.#early?.discard();
    const stream = this.#stream;
    const isAnswered = this.#statusCode !== null;
    // Node may read the answer before it tells of the end of its own write, which it does once in each round of the event loop.
    if (isAnswered && this.#native?.writableFinished === false) setImmediate(() => stream?.destroy());
    else stream?.destroy();
  }
}

function asError(error: unknown): Error {
  return isNativeError(error)
    ? error
    : new Error('the request failed for an unknown reason', { cause: error });
}
