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
const REMEMBERED_MAX = 10_000;

/** Verifies and prints what arrives at a port of loopback, until `io.stop`. With a key it polls instead. */
export async function listen(given: ListenArguments, io: Io): Promise<void> {
  const target = given.forward === undefined ? null : httpUrl('--forward', given.forward);
  const secret = signingSecret(given.secret, io) ?? newSecret();
  const prefix = headerPrefix(given['header-prefix']);
  const source = eventSource(given, io);
  if (source !== null) {
    await poll(source, target === null ? null : { target, secret, prefix }, io);
    return;
  }
  const signature = `${prefix}-Signature`.toLowerCase();
  const endpoint = new LocalEndpoint({ target, secret, signature, io });
  const server = createServer((request, response) => {
    endpoint.answer(request, response).catch((error: unknown) => {
      response.destroy();
      io.print(escapeUnprintable(`a request broke off: ${messageOf(error)}`));
    });
  });
  const port = await opened(server, portOf(given.port));
  const address = `http://127.0.0.1:${port}`;
  io.print(
    `listening on ${address}${target === null ? '' : `, forwarding to ${escapeUnprintable(target.href)}`}`,
  );
  io.print(`secret ${secret}`);
  const named = given['header-prefix'] === undefined ? '' : ` --header-prefix ${prefix}`;
  io.print(
    `try: npx --no -- @postrider/receiver send --type email.bounced --to ${address} --secret ${secret}${named}`,
  );
  await untilStopped(server, io.stop);
}

/** @returns null without a key: events arrive at a port. */
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

/** @returns the port. Only this machine can reach it. @throws Failure when it is taken. */
async function opened(server: Server, port: number): Promise<number> {
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
  /** The header's name in lower case. */
  readonly signature: string;
  readonly io: Io;
}

/** Answers each request and prints a paragraph about it. */
class LocalEndpoint {
  readonly #options: LocalEndpointOptions;
  readonly #seen = new Set<string>();

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
    const { secret, signature } = this.#options;
    try {
      const event: unknown = parseEvent({ header: request.headers[signature], body, secret });
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
    const again = this.#isKnown(event.id) ? ', seen before' : '';
    const outcome = fault ?? `answered ${response.statusCode}`;
    printEvent(io, event, `verified${again}, ${outcome}`);
  }

  #refuse(response: ServerResponse, status: number, reason: string): void {
    response.writeHead(status, { 'content-type': 'text/plain' }).end(`${reason}\n`);
    this.#options.io.print(escapeUnprintable(`\nrefused, answered ${status}: ${reason}`));
  }

  #isKnown(id: string): boolean {
    const isKnown = this.#seen.has(id);
    if (this.#seen.size >= REMEMBERED_MAX) this.#seen.clear();
    this.#seen.add(id);
    return isKnown;
  }
}

/** Anyone who knows the secret can sign something else. */
function isEvent(value: unknown): value is WebhookEvent {
  return typeof value === 'object' && value !== null && 'id' in value && typeof value.id === 'string';
}
