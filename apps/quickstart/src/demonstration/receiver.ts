import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseEvent, SignatureVerificationError } from '@postrider/receiver';
import type { WebhookEvent } from '@postrider/receiver';
import type { LoopbackCertificate } from './certificates.ts';

/** An event with a valid signature. */
export interface Arrival {
  readonly event: WebhookEvent;
  /** The arrival of its request, in milliseconds since 1970 by this machine's clock. */
  readonly receivedAtMs: number;
  /** True when this event id arrived before. */
  readonly again: boolean;
}

export interface ReceiverOptions {
  readonly certificate: LoopbackCertificate;
  /** The header's name in lower case. */
  readonly signatureHeader: string;
  readonly onArrival: (arrival: Arrival) => void;
  /** Gets a request without a valid signature. */
  readonly onRefusal: (words: string) => void;
}

/** A model of a customer's endpoint: it reads the raw body, verifies it, answers at once and deduplicates. */
export interface Receiver {
  readonly port: number;
  readonly endpoint: string;
  /** Until this call the endpoint answers 503, and the worker tries again. */
  trust(signingSecret: string): void;
  close(): Promise<void>;
}

const PATH = '/events';
const BODY_BYTES_MAX = 1_048_576;
const REMEMBERED_MAX = 10_000;

/** @param port the preferred port. When it is taken, the receiver uses any free port. */
export async function startReceiver(port: number, options: ReceiverOptions): Promise<Receiver> {
  const { keyPem: key, certPem: cert } = options.certificate;
  const seen = new Set<string>();
  let secret: string | null = null;
  const server = createServer({ key, cert }, (request, response) => {
    answer(request, response).catch((error: unknown) => {
      response.destroy();
      options.onRefusal(`a request broke off: ${(error as Error).message}`);
    });
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const receivedAtMs = Date.now();
    const body = await readBody(request);
    const [status, event] = judge(request, body);
    response.writeHead(status).end();
    if (event === null) return;
    const again = seen.has(event.id);
    if (seen.size >= REMEMBERED_MAX) seen.clear();
    seen.add(event.id);
    options.onArrival({ event, receivedAtMs, again });
  }

  function judge(request: IncomingMessage, body: Buffer | null): [number, WebhookEvent | null] {
    if (request.method !== 'POST' || request.url !== PATH) return [404, null];
    if (body === null) return [413, null];
    if (secret === null) return [503, null];
    try {
      return [204, parseEvent({ header: request.headers[options.signatureHeader], body, secret })];
    } catch (error) {
      if (!(error instanceof SignatureVerificationError)) throw error;
      options.onRefusal(`refused a request: ${error.message}`);
      return [401, null];
    }
  }

  const listening = (at: number) =>
    new Promise<number>((resolve, reject) => {
      server.once('error', reject);
      server.listen(at, '127.0.0.1', () => {
        server.off('error', reject);
        resolve((server.address() as AddressInfo).port);
      });
    });
  const bound = await listening(port).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    return listening(0);
  });
  return {
    port: bound,
    endpoint: `https://127.0.0.1:${bound}${PATH}`,
    trust: (signingSecret) => void (secret = signingSecret),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Returns null when the body is larger than any event. */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= BODY_BYTES_MAX) chunks.push(chunk);
  }
  return size > BODY_BYTES_MAX ? null : Buffer.concat(chunks);
}
