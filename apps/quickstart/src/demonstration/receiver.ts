import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseEvent, SignatureVerificationError } from '@postrider/receiver';
import type { WebhookEvent } from '@postrider/receiver';
import type { LoopbackCertificate } from './certificates.ts';

/** An event whose signature was right. */
export interface Arrival {
  readonly event: WebhookEvent;
  /** When its request reached the receiver: milliseconds since 1970 by this machine's clock. */
  readonly receivedAtMs: number;
  /** Whether it came before: a receiver dedupes by the event's id. */
  readonly again: boolean;
}

export interface ReceiverOptions {
  readonly certificate: LoopbackCertificate;
  /** Lower-case name of the header. */
  readonly signatureHeader: string;
  readonly onArrival: (arrival: Arrival) => void;
  /** Told of a request that did not prove where it comes from. */
  readonly onRefusal: (words: string) => void;
}

/** A customer's endpoint as it should be: it reads the raw body, verifies, answers at once and dedupes. */
export interface Receiver {
  readonly port: number;
  readonly endpoint: string;
  /** Until the secret is known every request is answered 503, and comes again. */
  trust(signingSecret: string): void;
  close(): Promise<void>;
}

const PATH = '/events';
const BODY_BYTES_MAX = 1_048_576;
const REMEMBERED_MAX = 10_000;

/** @param port taken when it is free, else any free one. */
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

/** Null when it is larger than any event. */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= BODY_BYTES_MAX) chunks.push(chunk);
  }
  return size > BODY_BYTES_MAX ? null : Buffer.concat(chunks);
}
