import type { ServerResponse } from 'node:http';
import { apiKeyDigest, bearerKey, canHave, grants } from '@postrider/domain';
import type { RateLimiter } from '@postrider/domain';
import type { Metrics } from '@postrider/runtime';
import type { ActiveKey, ApiKey, ApiKeyStore } from '@postrider/store';
import {
  forbidden,
  suspended,
  forLiveKeys,
  limitUnknown,
  noCapacity,
  noCapacityNow,
  overLimit,
  tooManyFromClient,
  tooManyInFlight,
  unauthorized,
} from '../problems/answers.ts';
import type { KeyedRoute, KeylessRoute, Route } from '../routes/route.ts';
import type { AccountSlots } from './account-slots.ts';
import type { Answer } from './answer.ts';
import { Body, refuseIgnored } from './read-body.ts';
import type { BodyLimits, BodyRead, NoBody } from './read-body.ts';
import { clientOf, contextOf, queryOf, requestOrigin } from './request-context.ts';
import type { MatchedRequest } from './request-context.ts';
import { KEYLESS } from './send.ts';
import type { Send } from './send.ts';

/** The services that the stages before a handler use. */
export interface StageServices {
  readonly apiKeys: Pick<ApiKeyStore, 'findActive'>;
  readonly limiter: RateLimiter;
  /** The key's limit in requests per minute. */
  readonly limitOf: (key: ApiKey) => number;
  /** Limits every body that a route reads. */
  readonly bodies: BodyLimits;
  /** Limit the handlers of routes without a rate limit, by account. */
  readonly accountSlots: AccountSlots;
  /** Limit the handlers of routes without a key, by client address. */
  readonly clientSlots: AccountSlots;
  readonly metrics: Pick<Metrics<'api'>, 'limiterFailures'>;
}

/** The cost of a request, unless its route has a `cost`. */
const COST = 1;
/** The cost is in the body, which is not read yet. */
const UNREAD = null;
const FREE = 0;
const NO_BODY = Buffer.alloc(0);

/** A request to a route, and what serves it. */
interface Call<AnyRoute extends Route> {
  readonly route: AnyRoute;
  readonly services: StageServices;
  readonly request: MatchedRequest;
  readonly response: ServerResponse;
}
interface KeyedCall extends Call<KeyedRoute> {
  /** The digest of the key in the header; null: the header holds no key. */
  readonly digest: Buffer | null;
}

/**
 * Serves one route. Every route keeps one order: key (401), rate limit (429), kind and scope of the key
 * (403), body (413, syntax), the key again (401, 403), then the route's own rules. The 404 for a missing
 * route comes earlier. A keyless route begins with the body.
 *
 * A route with a `cost` charges after its body is read. Before that, the key needs at least 1 left in its
 * window, and the body waits for a batch slot.
 */
export function serveRoute(route: Route, services: StageServices, send: Send) {
  return async (request: MatchedRequest, response: ServerResponse): Promise<void> => {
    const answer =
      route.scope === null
        ? await keylessAnswer({ route, services, request, response })
        : await keyedAnswer({ route, services, request, response, digest: digestOf(request) });
    // Null: the client has disconnected.
    if (answer !== null) send(request, response, answer);
  };
}

async function keyedAnswer(call: KeyedCall): Promise<Answer | null> {
  const { route, services, request, response } = call;
  const key = await findKey(call);
  if (key === null) return unauthorized;
  const isBatch = route.cost !== undefined;
  const cost = isBatch ? UNREAD : COST;
  const refusal = route.limited ? await charge(call, key, cost) : null;
  if (refusal !== null) return refusal;
  const body =
    route.body === undefined
      ? null
      : new Body({ request, response, rule: route.body, limits: services.bodies, owner: key.id, isBatch });
  try {
    const read = await readBody(call, key, body);
    if (!read.ok) {
      return await withoutBody(call, key, { cost: read.isFree === true ? FREE : cost, why: read.why });
    }
    const handle = async (): Promise<Answer> => handled(call, read.body);
    if (route.limited) return (await chargeBody(call, read.body)) ?? (await handle());
    const { accountSlots } = services;
    return (await accountSlots.run(key.accountId, handle, response, writtenBy)) ?? tooManyInFlight;
  } finally {
    body?.release();
  }
}

/** A request looks up its key at least twice, and hashes it once. */
function digestOf({ headers }: MatchedRequest): Buffer | null {
  const text = bearerKey(headers.authorization);
  return text === null ? null : apiKeyDigest(text);
}

/**
 * Returns the request's key, or null when the key is missing, malformed, unknown, revoked or expired
 * (contract 5). The store caches a key for one second. `key revoke` returns after that second.
 *
 * @throws StoreUnavailableError
 */
async function findKey({ services, response, digest }: KeyedCall): Promise<ActiveKey | null> {
  const key = digest === null ? null : await services.apiKeys.findActive(digest);
  if (key !== null) contextOf(response).key = key;
  return key;
}

/**
 * Charges a request to its key (contract 8, rules 1, 2 and 4). While the cost is unread, the limiter only
 * checks that at least 1 is left, and counts nothing.
 */
async function charge(
  { services, response }: KeyedCall,
  key: ApiKey,
  cost: number | typeof UNREAD,
): Promise<Answer | null> {
  const { limiter, limitOf, metrics } = services;
  const limitPerMinute = limitOf(key);
  const decision = await (cost === UNREAD
    ? limiter.peek(key.id, limitPerMinute)
    : limiter.charge(key.id, cost, limitPerMinute));
  if (decision.allowed) return null;
  contextOf(response).refusal = decision.why;
  if (decision.why === 'limit') return overLimit(cost, limitPerMinute);
  metrics.limiterFailures.inc();
  return limitUnknown(cost, limitPerMinute);
}

/** @param body null on a route that reads none. */
async function readBody(
  { route, request, response }: KeyedCall,
  key: ActiveKey,
  body: Body | null,
): Promise<BodyRead<unknown>> {
  const refusal = keyRefusal(key, route) ?? (body === null ? await refuseIgnored(request, response) : null);
  if (refusal !== null) return { ok: false, why: refusal };
  return body === null ? { ok: true, body: undefined } : body.json();
}

/** The answer when `readBody` fails. An unread cost is charged as 1, unless the API had no capacity. */
async function withoutBody(
  call: KeyedCall,
  key: ApiKey,
  { cost, why }: { readonly cost: number | typeof UNREAD; readonly why: NoBody },
): Promise<Answer | null> {
  const { route, services } = call;
  if (why === 'no capacity') return route.limited ? noCapacity(cost, services.limitOf(key)) : noCapacityNow;
  const refusal = cost === UNREAD ? await charge(call, key, COST) : null;
  return why === 'client gone' ? null : (refusal ?? why);
}

/** Charges what the body costs, on a route with a `cost`. */
async function chargeBody(call: KeyedCall, body: unknown): Promise<Answer | null> {
  if (call.route.cost === undefined) return null;
  const now = await keyNow(call);
  if (now.refusal !== null) return now.refusal;
  const { cost, refusal } = call.route.cost(body);
  return (await charge(call, now.key, cost)) ?? refusal;
}

async function handled(call: KeyedCall, body: unknown): Promise<Answer> {
  const { route, request, response } = call;
  const { key, refusal } = await keyNow(call);
  if (refusal !== null) return refusal;
  const { params } = request;
  return route.handle({
    key,
    id: params['id'] ?? '',
    params,
    query: queryOf(request),
    headers: request.headers,
    origin: requestOrigin(request),
    body,
    requestId: contextOf(response).requestId,
    recheckKey: async () => (await keyNow(call)).refusal,
    client: response,
  });
}

/**
 * Checks the key again. A body or a wait for a slot may take half a minute, the rate limiter 250 ms.
 * Meanwhile the operator may revoke the key, or change its scopes or its limit. Without a wait this takes
 * microseconds: the store has cached the key.
 */
async function keyNow(
  call: KeyedCall,
): Promise<
  { readonly key: ActiveKey; readonly refusal: null } | { readonly key: null; readonly refusal: Answer }
> {
  const key = await findKey(call);
  if (key === null) return { key, refusal: unauthorized };
  const refusal = keyRefusal(key, call.route);
  return refusal === null ? { key, refusal } : { key: null, refusal };
}

/** Contract 5: the key needs the kind, and the scope, of the route. Its account must not be suspended. */
function keyRefusal(key: ActiveKey, route: KeyedRoute): Answer | null {
  if (key.isSuspended) return suspended;
  if (!canHave(key.kind, route.scope) || (route.liveOnly === true && key.kind !== 'live')) return forLiveKeys;
  return grants(key.scopes, route.scope) ? null : forbidden(route.scope);
}

/** The number of deliveries that the handler wrote. The account's slot stays held in proportion. */
function writtenBy(answer: Answer): number {
  return answer.kind === 'json' ? (answer.written ?? 0) : 0;
}

async function keylessAnswer({
  route,
  services,
  request,
  response,
}: Call<KeylessRoute>): Promise<Answer | null> {
  const handle = async (body: Buffer): Promise<Answer> => {
    const { method = '', headers } = request;
    const { requestId } = contextOf(response);
    const id = request.params['id'] ?? '';
    const work = async (): Promise<Answer> => route.handle({ id, method, headers, requestId, body });
    if (route.slotPerClient === undefined) return work();
    // True: the slots that such routes share.
    const slots = route.slotPerClient === true ? services.clientSlots : route.slotPerClient;
    return (await slots.run(clientOf(request), work, response)) ?? tooManyFromClient;
  };
  if (route.body === undefined) {
    const refusal = await refuseIgnored(request, response);
    return refusal === 'client gone' ? null : (refusal ?? handle(NO_BODY));
  }
  const body = new Body({
    request,
    response,
    rule: route.body,
    limits: services.bodies,
    owner: KEYLESS,
    isBatch: false,
  });
  try {
    const read = await body.bytes();
    if (read.ok) return await handle(read.body);
    if (read.why === 'client gone') return null;
    return read.why === 'no capacity' ? noCapacityNow : read.why;
  } finally {
    body.release();
  }
}
