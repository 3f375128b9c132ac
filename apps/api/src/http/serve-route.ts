import type { IncomingMessage, ServerResponse } from 'node:http';
import { grants } from '@postrider/domain';
import type { Metrics } from '@postrider/runtime';
import type { ApiKey, ApiKeyStore } from '@postrider/store';
import { forbidden, unauthorized } from '../problems/answers.ts';
import type { Route } from '../routes/route.ts';
import type { Answer } from './answer.ts';
import { authenticate } from './authenticate.ts';
import type { Charge } from './charge.ts';
import { readBody } from './read-body.ts';
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

/**
 * Serves one route in the order that every route keeps: key (401), limit (429), scope (403), body (413, syntax),
 * then the route's own rules. That the route exists (404) has been settled before.
 */
export function serveRoute(route: Route, gates: Gates, send: Send) {
  return async (request: MatchedRequest, response: ServerResponse): Promise<void> => {
    send(request, response, await answerOf(route, gates, request, response));
  };
}

async function answerOf(
  route: Route,
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
  const { id = '' } = request.params;
  if (Array.isArray(id)) throw new Error('a route has one id at the most');
  const asked = { key, id, query: queryOf(request), headers: request.headers };
  if (route.body === 'ignored') return route.handle({ ...asked, body: undefined });
  const read = await readBody(request, response, route.body);
  return read.ok ? route.handle({ ...asked, body: read.body }) : read.refusal;
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
