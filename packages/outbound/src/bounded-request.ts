import { once } from 'node:events';
import { Agent as HttpAgent } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent } from 'node:https';
import type { Socket } from 'node:net';
import { type Request, RequestError } from 'got';
import type { Failure } from './endpoint-result.ts';
import { describeFailure, failed, isInHandshake } from './failure.ts';
import { createStrictGot } from './strict-got.ts';

export interface BoundedGetOptions {
  /** Limits the whole request: DNS, connect, TLS, head and the body that is read. */
  timeoutMs: number;
  /** The largest accepted body. A larger one is a failure. */
  bodyBytesMax: number;
  /** PEM certificates that replace the system's roots. `NODE_EXTRA_CA_CERTS` adds to the roots. */
  ca?: readonly string[];
}

/** A complete answer with any status. */
export interface FetchedAnswer {
  kind: 'answered';
  statusCode: number;
  body: Buffer;
}

/**
 * Makes a GET to a trusted host that the caller has checked, such as the mail provider's. Never use it for a
 * URL that a customer chose: it has no address guard. Inside a cloud network a provider's name may have a
 * private address. TLS proves that the provider answers.
 *
 * It follows no redirect, tries once, uses no proxy, and always verifies certificates. It rejects only for
 * our own fault: a scheme that is not https, or no descriptors or memory left.
 */
export function createBoundedGet(options: BoundedGetOptions): (url: URL) => Promise<FetchedAnswer | Failure> {
  // Requests are rare, so no connection stays open for the next one.
  const http = createStrictGot({ agent: new Agent({ keepAlive: false }), ca: options.ca });
  return async (url) => {
    if (url.protocol !== 'https:') throw new Error('only https is fetched');
    return bounded(http.stream(url), url, options.timeoutMs, (stream) => read(stream, options.bodyBytesMax));
  };
}

/**
 * Makes a POST to a URL that the operator chose, http or https, and reads no body. Never use it for a URL
 * that a customer chose: it has no address guard.
 *
 * It follows no redirect, tries once, and always verifies certificates. It rejects only for our own fault.
 */
export function createBoundedPost({ timeoutMs, ca }: Omit<BoundedGetOptions, 'bodyBytesMax'>) {
  const agent = new Agent({ keepAlive: false });
  const http = createStrictGot({ agent, httpAgent: new HttpAgent({ keepAlive: false }), ca });
  return async (
    url: URL,
    body: Buffer,
    headers: Readonly<Record<string, string>>,
  ): Promise<Pick<FetchedAnswer, 'kind' | 'statusCode'> | Failure> =>
    bounded(http.stream.post(url, { body, headers }), url, timeoutMs, async (stream) => {
      const [{ statusCode }] = (await once(stream, 'response')) as [{ statusCode: number }];
      return { kind: 'answered', statusCode };
    });
}

/** Ends the request with `work`, or when its time is up. */
async function bounded<T>(
  stream: Request,
  { hostname }: URL,
  timeoutMs: number,
  work: (stream: Request) => Promise<T>,
): Promise<T | Failure> {
  const deadline = { expired: false };
  const timer = setTimeout(() => {
    deadline.expired = true;
    stream.destroy(new Error('the time is up'));
  }, timeoutMs);
  // `work` sees the stream's errors. A later error without a listener would end the process.
  stream.on('error', () => undefined);
  let native: ClientRequest | undefined;
  stream.once('request', (request: ClientRequest) => {
    native = request.on('error', () => undefined);
  });
  // After a 101, got no longer closes the connection.
  stream.once('upgrade', (_response: IncomingMessage, socket: Socket) => socket.destroy());
  try {
    return await work(stream);
  } catch (error) {
    if (deadline.expired) return failed('timeout', `timeout after ${timeoutMs} ms`);
    const cause = error instanceof RequestError ? (error.cause ?? error) : error;
    const failure = describeFailure(cause, { hostname, inHandshake: isInHandshake(native?.socket) });
    if (failure === null) throw error;
    return failure;
  } finally {
    clearTimeout(timer);
    stream.destroy();
  }
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
