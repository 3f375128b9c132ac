import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignatureVerificationError } from '../signature-error.ts';
import { parseEvent } from '../verify-signature.ts';
import type { WebhookEvent } from '../webhook-event.ts';
import { fromEnvironment, headerPrefix, httpUrl, signingSecret } from './arguments.ts';
import type { Arguments } from './arguments.ts';
import { BODY_BYTES_MAX, forward, readBody } from './forward.ts';
import type { Delivery } from './forward.ts';
import { escapeUnprintable, Failure, messageOf, printEvent, UsageError } from './io.ts';
import type { Io } from './io.ts';
import { poll } from './poll.ts';
import type { EventSource } from './poll.ts';
import { newSecret } from './sample-event.ts';

export const LISTEN_OPTIONS = {
  forward: { type: 'string' },
  port: { type: 'string' },
  api: { type: 'string' },
  key: { type: 'string' },
  secret: { type: 'string' },
  'header-prefix': { type: 'string' },
} as const;

type ListenArguments = Arguments<typeof LISTEN_OPTIONS>;

const PORT = 8787;
const REMEMBERED_IDS_MAX = 10_000;

/**
 * Verifies and prints what arrives at a port of loopback, until `io.stop`. With an API key it polls the API
 * for events instead.
 */
export async function listen(given: ListenArguments, io: Io): Promise<void> {
  const target = given.forward === undefined ? null : httpUrl('--forward', given.forward);
  const secret = signingSecret(given.secret, io) ?? newSecret();
  const prefix = headerPrefix(given['header-prefix']);
  const source = eventSource(given, io);
  if (source !== null) {
    await poll(source, target === null ? null : { target, secret, prefix }, io);
    return;
  }
  const signatureHeader = `${prefix}-Signature`.toLowerCase();
  const endpoint = new LocalEndpoint({ target, secret, signatureHeader, io });
  const server = createServer((request, response) => {
    endpoint.answer(request, response).catch((error: unknown) => {
      response.destroy();
      io.print(escapeUnprintable(`a request broke off: ${messageOf(error)}`));
    });
  });
  const port = await openPort(server, portOf(given.port));
  const address = `http://127.0.0.1:${port}`;
  io.print(
    `listening on ${address}${target === null ? '' : `, forwarding to ${escapeUnprintable(target.href)}`}`,
  );
  io.print(`secret ${secret}`);
  const prefixOption = given['header-prefix'] === undefined ? '' : ` --header-prefix ${prefix}`;
  io.print(
    `try: npx --no -- @postrider/receiver send --type email.bounced --to ${address} --secret ${secret}${prefixOption}`,
  );
  await untilStopped(server, io.stop);
}

/** @returns null without a key: then the events arrive at a port. */
function eventSource({ key: given, api, port }: ListenArguments, io: Io): EventSource | null {
  const key = given ?? (api === undefined ? undefined : fromEnvironment('POSTRIDER_API_KEY', io));
  if (key === undefined && api === undefined) return null;
  if (key === undefined) throw new UsageError('--key is missing');
  if (api === undefined) throw new UsageError('--api is missing');
  if (port !== undefined) throw new UsageError('--port has no use with --key: events are polled');
  if (!/^pr_[\x21-\x7e]+$/.test(key)) throw new UsageError('--key must be an API key: it begins with pr_');
  return { api: httpUrl('--api', api), key };
}

function portOf(text = String(PORT)): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535)
    throw new UsageError(`--port must be a number from 0 to 65535, not ${text}`);
  return port;
}

/** Opens the port for this machine only. @returns its number. @throws Failure when the port is taken. */
async function openPort(server: Server, port: number): Promise<number> {
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening'); // rejects on 'error'
  } catch (error) {
    const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
    const words = isTaken ? `port ${port} is taken: choose another with --port` : messageOf(error);
    throw new Failure(words, { cause: error });
  }
  return (server.address() as AddressInfo).port;
}

async function untilStopped(server: Server, stop: AbortSignal | undefined): Promise<void> {
  const closed = once(server, 'close');
  stop?.addEventListener('abort', () => {
    server.close();
    server.closeAllConnections();
  });
  await closed;
}

interface LocalEndpointOptions {
  /** Null: `listen` answers 204 itself. */
  readonly target: URL | null;
  readonly secret: string;
  /** The name of the header with the signature, in lower case. */
  readonly signatureHeader: string;
  readonly io: Io;
}

/** Answers each request and prints a paragraph about it. */
class LocalEndpoint {
  readonly #options: LocalEndpointOptions;
  readonly #seenIds = new Set<string>();

  constructor(options: LocalEndpointOptions) {
    this.#options = options;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') {
      this.#refuse(response, 405, `a ${request.method} is no event`);
      return;
    }
    const body = await readBody(request);
    if (body === null) {
      this.#refuse(response, 413, `the body is larger than ${BODY_BYTES_MAX} bytes`);
      return;
    }
    const event = this.#verified(request, body);
    if (typeof event === 'string') this.#refuse(response, 400, event);
    else await this.#accept(event, { request, body, response });
  }

  /** @returns the event, or the reason to refuse the request. */
  #verified(request: IncomingMessage, body: Buffer): WebhookEvent | string {
    const { secret, signatureHeader } = this.#options;
    try {
      const event: unknown = parseEvent({ header: request.headers[signatureHeader], body, secret });
      return isEvent(event) ? event : 'signed, but the body is no event';
    } catch (error) {
      if (error instanceof SyntaxError) return 'signed, but the body is no JSON';
      if (error instanceof SignatureVerificationError) return `${error.reason}: ${error.message}`;
      throw error;
    }
  }

  async #accept(event: WebhookEvent, delivery: Delivery): Promise<void> {
    const { target, io } = this.#options;
    const { response } = delivery;
    const fault = target === null ? null : await forward(target, delivery);
    if (target === null) response.writeHead(204).end();
    const again = this.#remember(event.id) ? ', seen before' : '';
    const outcome = fault ?? `answered ${response.statusCode}`;
    printEvent(io, event, `verified${again}, ${outcome}`);
  }

  #refuse(response: ServerResponse, status: number, reason: string): void {
    response.writeHead(status, { 'content-type': 'text/plain' }).end(`${reason}\n`);
    this.#options.io.print(escapeUnprintable(`\nrefused, answered ${status}: ${reason}`));
  }

  /** @returns true when the id was seen before. */
  #remember(id: string): boolean {
    const isKnown = this.#seenIds.has(id);
    if (this.#seenIds.size >= REMEMBERED_IDS_MAX) this.#seenIds.clear();
    this.#seenIds.add(id);
    return isKnown;
  }
}

/** A signed body need not be an event: anyone who knows the secret can sign any text. */
function isEvent(value: unknown): value is WebhookEvent {
  return typeof value === 'object' && value !== null && 'id' in value && typeof value.id === 'string';
}
