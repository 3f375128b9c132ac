import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { ApiKey } from '@postrider/store';

/** What is known of a request while it is served, for its answer and its line in the log. */
export interface RequestContext {
  /** Always our own: a caller's `x-request-id` is not taken over. */
  readonly requestId: string;
  /** Milliseconds of the monotonic clock. */
  readonly startedAt: number;
  /** Once the request has authenticated. */
  key: ApiKey | null;
  /** Whether the client holds its body back until it is told `100 Continue`. */
  awaitsContinue: boolean;
  /** Why the rate limiter refused, if it did. */
  refusal: 'limit' | 'limiter-unavailable' | null;
}

const contexts = new WeakMap<ServerResponse, RequestContext>();

/** Comes before everything: gives the request its id, and every answer the headers that all answers have. */
export function openRequest(request: IncomingMessage, response: ServerResponse): void {
  const requestId = newRequestId();
  contexts.set(response, {
    requestId,
    startedAt: performance.now(),
    key: null,
    awaitsContinue: asksToContinue(request),
    refusal: null,
  });
  response.setHeader('x-request-id', requestId);
  response.setHeader('x-content-type-options', 'nosniff');
  response.setHeader('cache-control', 'no-store');
}

/** HTTP/1.0 knows no interim answers: there the header means nothing (RFC 9110 10.1.1). */
function asksToContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion === '1.1' && /(?:^|\W)100-continue(?:$|\W)/i.test(headers.expect ?? '');
}

/** @throws Error when `openRequest` has not seen the request. */
export function contextOf(response: ServerResponse): RequestContext {
  const context = contexts.get(response);
  if (context === undefined) throw new Error('the request was never opened');
  return context;
}

export function newRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`;
}
