import type { IncomingMessage, ServerResponse } from 'node:http';
import { grants } from '@postrider/domain';
import type { Metrics } from '@postrider/runtime';
import type { ApiKey, ApiKeyStore } from '@postrider/store';
import { forbidden, unauthorized } from '../problems/answers.ts';
import type { KeyedRoute, KeylessRoute, Route } from '../routes/route.ts';
import type { Answer } from './answer.ts';
import { authenticate } from './authenticate.ts';
import type { Charge } from './charge.ts';
import { readBytes, readJson } from './read-body.ts';
import { contextOf } from './request-context.ts';
import type { Send } from './send.ts';

/** What the stages before a handler need. */
export interface Gates {
  readonly apiKeys: Pick<ApiKeyStore, 'findActive'>;
  readonly charge: Charge;
  readonly metrics: Pick<Metrics<'api'>, 'limiterFailures'>;
}

/** What Express hands to a route. */
interface MatchedRequest extends IncomingMessage {
  readonly params: Readonly<Record<string, string | string[]>>;
}

const COST = 1;
const NO_BODY = Buffer.alloc(0);

/**
 * Serves one route in the order that every route keeps: key (401), limit (429), scope (403), body (413, syntax),
 * then the route's own rules. That the route exists (404) has been settled before. A keyless route begins with the body.
 */
export function serveRoute(route: Route, gates: Gates, send: Send) {
  return async (request: MatchedRequest, response: ServerResponse): Promise<void> => {
    const answer =
      route.scope === null
        ? await keylessAnswer(route, request, response)
        : await keyedAnswer(route, gates, request, response);
    send(request, response, answer);
  };
}

async function keyedAnswer(
  route: KeyedRoute,
  gates: Gates,
  request: MatchedRequest,
  response: ServerResponse,
): Promise<Answer> {
  const key = await authenticate(request, gates.apiKeys);
  contextOf(response).key = key;
  if (key === null) return unauthorized;
  const refusal = route.limited ? await refuseOverLimit(key, gates, response) : null;
  if (refusal !== null) return refusal;
  if (!grants(key.scopes, route.scope)) return forbidden(route.scope);
  const asked = { key, id: idOf(request), query: queryOf(request), headers: request.headers };
  if (route.body === 'ignored') return route.handle({ ...asked, body: undefined });
  const read = await readJson(request, response, route.body);
  return read.ok ? route.handle({ ...asked, body: read.body }) : read.refusal;
}

async function keylessAnswer(
  route: KeylessRoute,
  request: MatchedRequest,
  response: ServerResponse,
): Promise<Answer> {
  const id = idOf(request);
  const { headers } = request;
  if (route.body === 'ignored') return route.handle({ id, headers, body: NO_BODY });
  const read = await readBytes(request, response, route.body);
  return read.ok ? route.handle({ id, headers, body: read.body }) : read.refusal;
}

function idOf({ params }: MatchedRequest): string {
  const { id = '' } = params;
  if (Array.isArray(id)) throw new Error('a route has one id at the most');
  return id;
}

/** What a target cannot say in percent-escapes is read as U+FFFD: the parameter is then somebody's fault, not ours. */
function queryOf({ url = '' }: IncomingMessage): URLSearchParams {
  const at = url.indexOf('?');
  return new URLSearchParams(at === -1 ? '' : url.slice(at + 1));
}

async function refuseOverLimit(key: ApiKey, gates: Gates, response: ServerResponse): Promise<Answer | null> {
  const refusal = await gates.charge(key, COST);
  if (refusal === null) return null;
  contextOf(response).refusal = refusal.why;
  if (refusal.why === 'limiter-unavailable') gates.metrics.limiterFailures.inc();
  return refusal.answer;
}
