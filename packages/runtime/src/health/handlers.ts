import type { IncomingMessage, ServerResponse } from 'node:http';
import { within } from '@postrider/limits';
import type { Registry } from 'prom-client';
import type { Logger } from '../logging/logger.ts';

/** Answers one request. Express accepts such a function as a route handler. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Each part that the process needs, with `ok` or its fault. */
type PartStates = Readonly<Record<string, string>>;

/**
 * `reason` and `parts` are public: they name no host, no table and no secret. `cause` may name them, so only
 * the log gets it.
 */
export type Readiness = { ready: true; parts?: PartStates } | NotReady;

interface NotReady {
  ready: false;
  reason: string;
  cause?: unknown;
  parts?: PartStates;
  /** The process is starting or stopping, so the log line is no warning. */
  isExpected?: true;
}

/** Checks that the process can work now. A check that rejects or hangs counts as not ready. */
export type ReadinessCheck = () => Promise<Readiness>;

const READINESS_TIMEOUT_MS = 2_000;
/** Less than `READINESS_TIMEOUT_MS`, so that the answer still names the parts. */
const DATABASE_TIMEOUT_MS = 1_900;

type DatabaseReadiness = Readiness & { parts: Readonly<Record<'postgres' | 'migrations', string>> };

/** Limits the time for the check of Postgres. A late answer is a fault of Postgres. */
export async function databaseReadiness(check: () => Promise<DatabaseReadiness>): Promise<DatabaseReadiness> {
  const reason = `no answer within ${DATABASE_TIMEOUT_MS} ms`;
  const parts = { postgres: reason, migrations: 'unknown' };
  return within(check, DATABASE_TIMEOUT_MS, () => ({ ready: false, reason, parts }));
}

/** Ready when every check is ready; otherwise, the first refusal. `parts` has the parts of all checks. */
export function readinessOfAll(checks: readonly ReadinessCheck[]): ReadinessCheck {
  return async () => {
    const all = await Promise.all(checks.map((check) => check()));
    const parts = Object.assign({}, ...all.map((each) => each.parts ?? {})) as PartStates;
    return { ...(all.find((each) => !each.ready) ?? { ready: true }), parts };
  };
}

/** `/healthz`: the process is alive and its event loop runs. */
export const healthHandler: Handler = async (_request, response) => {
  sendJson(response, 200, { status: 'ok' });
};

/**
 * `/readyz`: answers 200 `{"status":"ready","parts":{…}}` or 503
 * `{"status":"not-ready","reason":"…","parts":{…}}` within `timeoutMs`. Only the log gets the cause.
 */
export function createReadinessHandler(
  check: ReadinessCheck,
  logger: Pick<Logger, 'info' | 'warn'>,
  timeoutMs = READINESS_TIMEOUT_MS,
): Handler {
  return async (_request, response) => {
    const readiness = await answerWithin(check, timeoutMs);
    if (readiness.ready) {
      sendJson(response, 200, { status: 'ready', parts: readiness.parts });
      return;
    }
    const { reason, cause, parts, isExpected = false } = readiness;
    logger[isExpected ? 'info' : 'warn']('not ready', {
      reason,
      ...(cause === undefined ? {} : { error: cause }),
    });
    sendJson(response, 503, { status: 'not-ready', reason, parts });
  };
}

/** `/metrics`: the registry in the text format of Prometheus. */
export function createMetricsHandler(registry: Registry): Handler {
  return async (_request, response) => {
    const text = await registry.metrics();
    response.writeHead(200, { 'content-type': registry.contentType, 'cache-control': 'no-store' }).end(text);
  };
}

/** Answers with JSON that no cache may keep. */
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
