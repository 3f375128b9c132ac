import { randomUUID } from 'node:crypto';
import type { Logger } from '@postrider/runtime';
import type { RequestHandler, Response } from 'express';

const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** Machines call these every few seconds, so the log has them at debug level. */
const OPERATIONS = new Set(['/healthz', '/readyz', '/metrics']);

/** Runs first. It makes the request's id, sets the headers of every answer, and logs the request. */
export function openRequest(logger: Logger): RequestHandler {
  return (request, response, next) => {
    const startedAt = performance.now();
    const requestId = `req_${randomUUID().replaceAll('-', '')}`;
    response.locals['requestId'] = requestId;
    response.set({
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-request-id': requestId,
    });
    response.once('close', () => {
      const path = (request.route as { path: string } | undefined)?.path ?? 'unmatched';
      logger[OPERATIONS.has(path) ? 'debug' : 'info']('request', {
        method: request.method,
        route: path,
        // Null: the client disconnected before the answer.
        status: response.headersSent ? response.statusCode : null,
        duration_ms: Math.round((performance.now() - startedAt) * 10) / 10,
        request_id: requestId,
      });
    });
    next();
  };
}

export function requestIdOf({ locals }: Response): string {
  return locals['requestId'] as string;
}
