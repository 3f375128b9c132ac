import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import { messageOf } from '../logging/error-words.ts';
import { maskSecrets } from '../logging/redact.ts';
import { within } from '../within.ts';

/** Answers one request. Express takes such a function as a route handler, too. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export type Readiness = { ready: true } | { ready: false; reason: string };

/** Whether this process can do its work now. May reject or hang: both count as not ready. */
export type ReadinessCheck = () => Promise<Readiness>;

const READINESS_TIMEOUT_MS = 2000;

/** `/healthz`: the process is alive and its event loop turns. */
export const healthHandler: Handler = async (_request, response) => {
  sendJson(response, 200, { status: 'ok' });
};

/** `/readyz`: 200 `{"status":"ready"}`, else 503 `{"status":"not-ready","reason":"…"}`, within `timeoutMs`. */
export function createReadinessHandler(check: ReadinessCheck, timeoutMs = READINESS_TIMEOUT_MS): Handler {
  return async (_request, response) => {
    const readiness = await answerWithin(check, timeoutMs);
    if (readiness.ready) sendJson(response, 200, { status: 'ready' });
    else sendJson(response, 503, { status: 'not-ready', reason: readiness.reason });
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
    return { ready: false, reason: maskSecrets(messageOf(error)) };
  }
}
