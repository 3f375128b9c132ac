import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent } from 'node:https';
import type { Socket } from 'node:net';
import { type Request, RequestError } from 'got';
import type { Failure } from './endpoint-answer.ts';
import { describeFailure, failed } from './failure.ts';
import { createStrictGot } from './strict-got.ts';

export interface BoundedGetOptions {
  /** Time limit of the whole: DNS, connect, TLS, head and body. */
  timeoutMs: number;
  /** Largest body that is taken; a larger one is a failure. */
  bodyBytesMax: number;
  /** PEM certificates trusted in place of the system's roots. `NODE_EXTRA_CA_CERTS` adds to the roots, as Node defines it. */
  ca?: readonly string[];
}

/** A complete answer, whatever its status. */
export interface FetchedAnswer {
  kind: 'answered';
  statusCode: number;
  body: Buffer;
}

/**
 * Makes a GET for addresses whose host the caller has pinned to one it trusts, such as the mail provider's: never for
 * one that a customer chose. There is no address guard on this way: inside a cloud network a provider's name may well
 * have a private address, and TLS shows whether it is the provider who answers.
 *
 * It follows no redirect, tries once, uses no proxy, and always verifies certificates. Rejects only for a fault of our
 * own: another scheme than https, or this machine out of descriptors or memory.
 */
export function createBoundedGet(options: BoundedGetOptions): (url: URL) => Promise<FetchedAnswer | Failure> {
  // Requests are rare: no connection waits for the next one.
  const http = createStrictGot({ agent: new Agent({ keepAlive: false }), ca: options.ca });
  return async (url) => {
    if (url.protocol !== 'https:') throw new Error('only https is fetched');
    const stream = http.stream(url);
    const deadline = { expired: false };
    const timer = setTimeout(() => {
      deadline.expired = true;
      stream.destroy();
    }, options.timeoutMs);
    // Errors are seen by whoever reads the stream. One that comes when nobody does any more would end the process.
    stream.on('error', () => undefined);
    stream.once('request', (native: ClientRequest) => native.on('error', () => undefined));
    // After a 101 the connection is no longer got's to close.
    stream.once('upgrade', (_response: IncomingMessage, socket: Socket) => socket.destroy());
    try {
      return await read(stream, options.bodyBytesMax);
    } catch (error) {
      if (deadline.expired) return failed('timeout', `timeout after ${options.timeoutMs} ms`);
      const cause = error instanceof RequestError ? (error.cause ?? error) : error;
      const failure = describeFailure(cause, { hostname: url.hostname, inHandshake: false });
      if (failure === null) throw error;
      return failure;
    } finally {
      clearTimeout(timer);
      stream.destroy();
    }
  };
}

async function read(stream: Request, bodyBytesMax: number): Promise<FetchedAnswer | Failure> {
  const chunks: Buffer[] = [];
  let bodyBytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bodyBytes += chunk.length;
    if (bodyBytes > bodyBytesMax) return failed('protocol', `response larger than ${bodyBytesMax} bytes`);
    chunks.push(chunk);
  }
  return { kind: 'answered', statusCode: stream.response?.statusCode ?? 0, body: Buffer.concat(chunks) };
}
