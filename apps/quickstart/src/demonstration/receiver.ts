import { once } from 'node:events';
import { createServer } from 'node:https';
import type { Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { forward, readBody } from '@postrider/receiver/forward';
import { parseEvent, SignatureVerificationError } from '@postrider/receiver';
import type { WebhookEvent } from '@postrider/receiver';
import type { Certificate } from '@postrider/embedded';

/** An event with a valid signature. */
export interface Arrival {
  readonly event: WebhookEvent;
  /** The arrival of its request, in milliseconds since 1970 by this machine's clock. */
  readonly receivedAtMs: number;
  /** True when this event id arrived before. */
  readonly again: boolean;
}

export interface ReceiverOptions {
  readonly certificate: Certificate;
  /** The header's name in lower case. */
  readonly signatureHeader: string;
  readonly onArrival: (arrival: Arrival) => void;
  /** Passes each event with a valid signature on to this address. Null: the receiver answers 204 itself. */
  readonly forward: URL | null;
  /** Gets a sentence about each request without a valid signature, or that could not be forwarded. */
  readonly onRefusal: (words: string) => void;
}

const PATH = '/events';
/** Event ids that the receiver keeps, to recognize an event that arrives again. */
const REMEMBERED_MAX = 10_000;

/** A model of a customer's endpoint: it reads the raw body, verifies it, answers at once and deduplicates. */
export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #server: Server;
  readonly #seen = new Set<string>();
  #secret: string | null = null;

  private constructor(options: ReceiverOptions) {
    const { keyPem: key, certPem: cert } = options.certificate;
    this.#options = options;
    this.#server = createServer({ key, cert }, (request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        response.destroy();
        options.onRefusal(`a request broke off: ${(error as Error).message}`);
      });
    });
  }

  /** @param port the preferred port. When it is taken, the receiver uses any free port. */
  static async start(port: number, options: ReceiverOptions): Promise<Receiver> {
    const receiver = new Receiver(options);
    await receiver.#listen(port).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      return receiver.#listen(0);
    });
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get endpoint(): string {
    return `https://127.0.0.1:${this.port}${PATH}`;
  }

  /** Until this call the endpoint answers 503, and the worker tries again. */
  trust(signingSecret: string): void {
    this.#secret = signingSecret;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening'); // rejects on 'error'
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const receivedAtMs = Date.now();
    const body = await readBody(request);
    const [status, event] = this.#judge(request, body);
    const target = event === null ? null : this.#options.forward;
    if (target === null) response.writeHead(status).end();
    if (event !== null) this.#note(event, receivedAtMs);
    if (target === null || body === null) return;
    const fault = await forward(target, { request, body, response });
    if (fault !== null) this.#options.onRefusal(fault);
  }

  #note(event: WebhookEvent, receivedAtMs: number): void {
    const again = this.#seen.has(event.id);
    if (this.#seen.size >= REMEMBERED_MAX) this.#seen.clear();
    this.#seen.add(event.id);
    this.#options.onArrival({ event, receivedAtMs, again });
  }

  #judge(request: IncomingMessage, body: Buffer | null): [number, WebhookEvent | null] {
    if (request.method !== 'POST' || request.url !== PATH) return [404, null];
    if (body === null) return [413, null];
    if (this.#secret === null) return [503, null];
    try {
      const header = request.headers[this.#options.signatureHeader];
      return [204, parseEvent({ header, body, secret: this.#secret })];
    } catch (error) {
      if (!(error instanceof SignatureVerificationError)) throw error;
      this.#options.onRefusal(`refused a request: ${error.message}`);
      return [401, null];
    }
  }
}
