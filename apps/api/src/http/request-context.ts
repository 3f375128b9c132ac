import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { networkOf } from '@postrider/limits';
import type { Actor, ApiKey } from '@postrider/store';

/** State of a request in flight, for its answer and its log line. */
export interface RequestContext {
  /** Always generated. The caller's `x-request-id` is ignored. */
  readonly requestId: string;
  /** Milliseconds of the monotonic clock. */
  readonly startedAt: number;
  /** Set after authentication. */
  key: ApiKey | null;
  /** True when the client sends its body only after `100 Continue`. */
  awaitsContinue: boolean;
  /** The rate limiter's reason for a refusal. */
  refusal: 'limit' | 'limiter-unavailable' | null;
}

const CONTEXT = Symbol('context');

type OpenedResponse = ServerResponse & { [CONTEXT]?: RequestContext };

/** Runs first. It creates the request's id and sets the headers that every answer has. */
export function openRequest(request: IncomingMessage, response: OpenedResponse): void {
  const requestId = newRequestId();
  response[CONTEXT] = {
    requestId,
    startedAt: performance.now(),
    key: null,
    awaitsContinue: asksToContinue(request),
    refusal: null,
  };
  response.setHeader('x-request-id', requestId);
  response.setHeader('x-content-type-options', 'nosniff');
  response.setHeader('cache-control', 'no-store');
}

/** HTTP/1.0 has no interim answers, so the header `Expect` has no meaning there (RFC 9110 10.1.1). */
function asksToContinue({ headers, httpVersion }: IncomingMessage): boolean {
  const { expect } = headers;
  return expect !== undefined && httpVersion === '1.1' && /(?:^|\W)100-continue(?:$|\W)/i.test(expect);
}

/** @throws Error when `openRequest` did not run. */
export function contextOf(response: OpenedResponse): RequestContext {
  const context = response[CONTEXT];
  if (context === undefined) throw new Error('the request was never opened');
  return context;
}

export function newRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`;
}

/** The actor of a request, as the audit names it. */
export function actorOf(key: Pick<ApiKey, 'id'>): Actor {
  return { kind: 'key', name: key.id };
}

/** Express passes this request to a route. */
export interface MatchedRequest extends IncomingMessage {
  /** The named parts of the path, percent-decoded and not checked. No path has a wildcard. */
  readonly params: Readonly<Record<string, string>>;
}

/** A malformed percent-escape becomes U+FFFD, so the route refuses the parameter. */
export function queryOf({ url = '' }: IncomingMessage): URLSearchParams {
  const at = url.indexOf('?');
  return new URLSearchParams(at === -1 ? '' : url.slice(at + 1));
}

/**
 * The key of a client in limits. Clients in one /64 of IPv6 share a key, and so do clients behind one proxy.
 */
export function clientOf({ socket: { remoteAddress = '' } }: IncomingMessage): string {
  return `address ${networkOf(remoteAddress) ?? remoteAddress}`;
}

/** A name or address, with an optional port (RFC 9110 7.2). No character in it ends the host of a URL. */
const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/**
 * Returns the origin from the `Host` header, or the address that accepted the request when `Host` is
 * unusable.
 */
export function requestOrigin({ headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>): string {
  const { host = '' } = headers;
  if (HOST.test(host)) return `http://${host}`;
  const { localAddress = '', localPort = 0 } = socket;
  const address = localAddress.includes(':') ? `[${localAddress.replace(/%.*$/, '')}]` : localAddress;
  return `http://${address}:${localPort}`;
}
