import type { IncomingMessage, ServerResponse } from 'node:http';
import { within } from '@postrider/limits';
import type { Registry } from 'prom-client';
import type { Logger } from '../logging/logger.ts';

/** Answers one request. Express takes such a function as a route handler, too. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Anybody may ask: `reason` names no host, no table and no secret; `cause` may, and is for the log. */
export type Readiness = { ready: true } | { ready: false; reason: string; cause?: unknown };

/** Whether this process can do its work now. May reject or hang: both count as not ready. */
export type ReadinessCheck = () => Promise<Readiness>;

const READINESS_TIMEOUT_MS = 2000;

/** `/healthz`: the process is alive and its event loop turns. */
export const healthHandler: Handler = async (_request, response) => {
  sendJson(response, 200, { status: 'ok' });
};

/**
 * `/readyz`: 200 `{"status":"ready"}`, else 503 `{"status":"not-ready","reason":"…"}`, within `timeoutMs`. What
 * lies behind the reason is a line in the log.
 */
export function createReadinessHandler(
  check: ReadinessCheck,
  logger: Pick<Logger, 'warn'>,
  timeoutMs = READINESS_TIMEOUT_MS,
): Handler {
  return async (_request, response) => {
    const readiness = await answerWithin(check, timeoutMs);
    if (readiness.ready) {
      sendJson(response, 200, { status: 'ready' });
      return;
    }
    const { reason, cause } = readiness;
    logger.warn('not ready', { reason, ...(cause === undefined ? {} : { error: cause }) });
    sendJson(response, 503, { status: 'not-ready', reason });
  };
}

/** `/metrics`: the registry in Prometheus' text format. */
export function createMetricsHandler(registry: Registry): Handler {
  return async (_request, response) => {
    const text = await registry.metrics();
    response.writeHead(200, { 'content-type': registry.contentType, 'cache-control': 'no-store' }).end(text);
  };
}

/** Small JSON answers of the operator's side; no cache may keep them. */
export function sendJson(response: ServerResponse, status: number, body: object): void {
  response
    .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(JSON.stringify(body));
}

async function answerWithin(check: ReadinessCheck, timeoutMs: number): Promise<Readiness> {
  try {
    return await within(check, timeoutMs, () => ({
      ready: false,
      reason: `no answer within ${timeoutMs} ms`,
    }));
  } catch (error) {
    return { ready: false, reason: 'the check failed', cause: error };
  }
}
