import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger, Metrics } from '@postrider/runtime';
import { contextOf } from './request-context.ts';

/** Express sets `route` on a matched request. `path` is the route's pattern, without ids. */
interface RoutedRequest extends IncomingMessage {
  readonly route?: { readonly path: string };
}

/** Machines call these every few seconds. They are logged at level debug. */
const PROBE_PATHS = new Set(['/healthz', '/readyz', '/metrics']);

/**
 * Writes one log line and one count per request, after its end. Neither contains the raw path: a client can
 * put secrets into it. A request without a matching route has the route `unmatched`.
 */
export function createAccessLog(
  logger: Logger,
  metrics: Pick<Metrics<'api'>, 'httpRequests' | 'httpRequestDuration'>,
) {
  return (request: RoutedRequest, response: ServerResponse): void => {
    response.once('close', () => {
      const context = contextOf(response);
      const { method = 'GET' } = request;
      const route = request.route?.path ?? 'unmatched';
      const durationMs = performance.now() - context.startedAt;
      const answered = response.headersSent;
      metrics.httpRequestDuration.observe({ method, route }, durationMs / 1000);
      metrics.httpRequests.inc({ method, route, status: answered ? response.statusCode : 'none' });
      logger[PROBE_PATHS.has(route) ? 'debug' : 'info']('request', {
        method,
        route,
        // Null: the client disconnected before the answer.
        status: answered ? response.statusCode : null,
        duration_ms: Math.round(durationMs * 10) / 10,
        request_id: context.requestId,
        ...(context.key === null ? {} : { key_id: context.key.id, account_id: context.key.accountId }),
        ...(context.refusal === null ? {} : { refused_by: context.refusal }),
      });
    });
  };
}
