import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { ApiKey } from '@postrider/store';

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

const contexts = new WeakMap<ServerResponse, RequestContext>();

/** Runs first. It creates the request's id and sets the headers that every answer has. */
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

/** HTTP/1.0 has no interim answers, so the header has no meaning there (RFC 9110 10.1.1). */
function asksToContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion === '1.1' && /(?:^|\W)100-continue(?:$|\W)/i.test(headers.expect ?? '');
}

/** @throws Error when `openRequest` did not run. */
export function contextOf(response: ServerResponse): RequestContext {
  const context = contexts.get(response);
  if (context === undefined) throw new Error('the request was never opened');
  return context;
}

export function newRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`;
}
