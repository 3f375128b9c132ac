import type { IncomingMessage, ServerResponse } from 'node:http';
import { grants } from '@postrider/domain';
import { networkOf } from '@postrider/limits';
import type { Metrics } from '@postrider/runtime';
import type { ActiveKey, ApiKey, ApiKeyStore } from '@postrider/store';
import {
  forbidden,
  suspended,
  forLiveKeys,
  noCapacity,
  noCapacityNow,
  tooManyFromClient,
  tooManyInFlight,
  unauthorized,
} from '../problems/answers.ts';
import type { KeyedRoute, KeylessRoute, Route } from '../routes/route.ts';
import type { AccountSlots } from './account-slots.ts';
import type { Answer } from './answer.ts';
import { authenticate } from './authenticate.ts';
import { BodyNotAdmittedError, BodySlots } from './body-limits.ts';
import type { BodyLimits } from './body-limits.ts';
import type { Charge, LimitOf } from './charge.ts';
import { readBytes, readJson, refuseIgnored } from './read-body.ts';
import type { BodyRead } from './read-body.ts';
import { contextOf } from './request-context.ts';
import { requestOrigin } from './request-origin.ts';
import type { Send } from './send.ts';

/** The services that the stages before a handler use. */
export interface StageServices {
  readonly apiKeys: Pick<ApiKeyStore, 'findActive'>;
  readonly limitOf: LimitOf;
  readonly charge: Charge;
  /** Limits every body that a route reads. */
  readonly bodies: BodyLimits;
  /** Limit the handlers of routes without a rate limit. */
  readonly accountSlots: AccountSlots;
  readonly metrics: Pick<Metrics<'api'>, 'limiterFailures'>;
}

/** Express passes this request to a route. */
interface MatchedRequest extends IncomingMessage {
  readonly params: Readonly<Record<string, string | string[]>>;
}

/** The cost of a request, unless its route has a `cost`. */
const COST = 1;
const NO_BODY = Buffer.alloc(0);
/** All requests without a key share the limits of this owner. No key has this id. */
const KEYLESS = 'keyless';

/**
 * Serves one route. Every route keeps one order: key (401), rate limit (429), scope and kind of key (403),
 * body (413, syntax), the key again (401, 403), then the route's own rules. The 404 for a missing route comes
 * earlier. A keyless route begins with the body.
 *
 * A route with a `cost` charges after its body is read. Before that, the key needs at least 1 left, and the
 * body waits for a batch slot.
 */
export function serveRoute(route: Route, services: StageServices, send: Send) {
  return async (request: MatchedRequest, response: ServerResponse): Promise<void> => {
    const answer =
      route.scope === null
        ? await keylessAnswer(route, services, request, response)
        : await keyedAnswer(route, services, request, response);
    send(request, response, answer);
  };
}

async function keyedAnswer(
  route: KeyedRoute,
  services: StageServices,
  request: MatchedRequest,
  response: ServerResponse,
): Promise<Answer> {
  const key = await authenticate(request, services.apiKeys);
  contextOf(response).key = key;
  if (key === null) return unauthorized;
  const isPriced = route.cost !== undefined;
  const cost = isPriced ? null : COST;
  const refusal = isPriced || route.limited ? await refuseOverLimit(key, cost, services, response) : null;
  if (refusal !== null) return refusal;
  const slots = new BodySlots(services.bodies, key.id, isPriced);
  const call: KeyedCall = { route, key, services, request, response, slots };
  try {
    return route.cost === undefined ? await plainAnswer(call) : await pricedAnswer(call, route.cost);
  } catch (error) {
    if (!(error instanceof BodyNotAdmittedError)) throw error;
    return isPriced || route.limited ? noCapacity(cost, services.limitOf(key)) : noCapacityNow;
  } finally {
    slots.release();
  }
}

/** A request whose key is known, and what serves it. */
interface KeyedCall {
  readonly route: KeyedRoute;
  readonly key: ActiveKey;
  readonly services: StageServices;
  readonly request: MatchedRequest;
  readonly response: ServerResponse;
  readonly slots: BodySlots;
}

/**
 * Serves a request whose cost is already charged, or that costs nothing. The latter waits for an account
 * slot.
 */
async function plainAnswer(call: KeyedCall): Promise<Answer> {
  const { route, key, services, response } = call;
  const read = await readBody(call);
  if (!read.ok) return read.refusal;
  const handle = async (): Promise<Answer> => {
    const now = await keyNow(call);
    return now.ok ? handled({ ...call, key: now.key }, read.body) : now.refusal;
  };
  if (route.limited) return handle();
  const handleAndCount = async (wrote: (deliveries: number) => void): Promise<Answer> => {
    const answer = await handle();
    if (answer.kind === 'json') wrote(answer.deliveries ?? 0);
    return answer;
  };
  return (await services.accountSlots.run(key.accountId, handleAndCount, response)) ?? tooManyInFlight;
}

/**
 * Checks the key again. A body or a wait for a slot may take half a minute, the rate limiter 250 ms.
 * Meanwhile the operator may revoke the key, or change its scopes or its limit. Without a wait this takes
 * microseconds: the store still has the key.
 */
async function keyNow({
  route,
  services,
  request,
  response,
}: KeyedCall): Promise<
  { readonly ok: true; readonly key: ActiveKey } | { readonly ok: false; readonly refusal: Answer }
> {
  const key = await authenticate(request, services.apiKeys);
  if (key === null) return { ok: false, refusal: unauthorized };
  contextOf(response).key = key;
  const refusal = keyRefusal(key, route);
  return refusal === null ? { ok: true, key } : { ok: false, refusal };
}

/** Contract 5: the key needs the scope, and the kind, of the route. Its account must not be suspended. */
function keyRefusal(key: ActiveKey, route: KeyedRoute): Answer | null {
  if (key.isSuspended) return suspended;
  if (!grants(key.scopes, route.scope)) return forbidden(route.scope);
  return route.liveOnly === true && key.kind !== 'live' ? forLiveKeys : null;
}

/**
 * Serves a request that is charged after its body. An aborted body costs 1, unless the API could not admit
 * it.
 */
async function pricedAnswer(call: KeyedCall, costOf: NonNullable<KeyedRoute['cost']>): Promise<Answer> {
  const { key, services, response } = call;
  const read = await readBody(call).catch(async (error: unknown) => {
    if (!(error instanceof BodyNotAdmittedError)) await refuseOverLimit(key, COST, services, response);
    throw error;
  });
  if (!read.ok) return (await refuseOverLimit(key, COST, services, response)) ?? read.refusal;
  const now = await keyNow(call);
  if (!now.ok) return now.refusal;
  const { cost, refusal } = costOf(read.body);
  const overLimit = cost > 0 ? await refuseOverLimit(now.key, cost, services, response) : null;
  const refused = overLimit ?? refusal;
  if (refused !== null) return refused;
  const charged = await keyNow(call);
  return charged.ok ? handled({ ...call, key: charged.key }, read.body) : charged.refusal;
}

async function handled(call: KeyedCall, body: unknown): Promise<Answer> {
  const { route, key, request, response } = call;
  const params = paramsOf(request);
  return route.handle({
    key,
    id: idOf(params),
    params,
    query: queryOf(request),
    headers: request.headers,
    origin: requestOrigin(request),
    body,
    requestId: contextOf(response).requestId,
    recheckKey: async () => {
      const now = await keyNow(call);
      return now.ok ? null : now.refusal;
    },
  });
}

async function readBody({ route, key, request, response, slots }: KeyedCall): Promise<BodyRead<unknown>> {
  const unfit = keyRefusal(key, route);
  if (unfit !== null) return { ok: false, refusal: unfit };
  if (route.body !== undefined) return readJson(request, response, route.body, slots);
  const refusal = refuseIgnored(request);
  return refusal === null ? { ok: true, body: undefined } : { ok: false, refusal };
}

async function keylessAnswer(
  route: KeylessRoute,
  { bodies, accountSlots }: StageServices,
  request: MatchedRequest,
  response: ServerResponse,
): Promise<Answer> {
  const { requestId } = contextOf(response);
  const { method = '', headers } = request;
  const given = { id: idOf(paramsOf(request)), method, headers, requestId };
  const handle = async (body: Buffer): Promise<Answer> => {
    const work = async (): Promise<Answer> => route.handle({ ...given, body });
    if (route.slotPerClient !== true) return work();
    return (await accountSlots.run(clientOf(request), work, response)) ?? tooManyFromClient;
  };
  if (route.body === undefined) return refuseIgnored(request) ?? handle(NO_BODY);
  const slots = new BodySlots(bodies, KEYLESS, false);
  try {
    const read = await readBytes(request, response, route.body, slots);
    return read.ok ? await handle(read.body) : read.refusal;
  } catch (error) {
    if (error instanceof BodyNotAdmittedError) return noCapacityNow;
    throw error;
  } finally {
    slots.release();
  }
}

/** Clients in one /64 of IPv6 count together, and so do those behind one proxy. */
function clientOf({ socket: { remoteAddress = '' } }: IncomingMessage): string {
  return `address ${networkOf(remoteAddress) ?? remoteAddress}`;
}

function paramsOf({ params }: MatchedRequest): Record<string, string> {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => {
      if (Array.isArray(value)) throw new Error('a named part of a path is one segment');
      return [name, value];
    }),
  );
}

function idOf({ id = '' }: Readonly<Record<string, string>>): string {
  return id;
}

/** A malformed percent-escape becomes U+FFFD, so the route refuses the parameter. */
function queryOf({ url = '' }: IncomingMessage): URLSearchParams {
  const at = url.indexOf('?');
  return new URLSearchParams(at === -1 ? '' : url.slice(at + 1));
}

async function refuseOverLimit(
  key: ApiKey,
  cost: number | null,
  services: StageServices,
  response: ServerResponse,
): Promise<Answer | null> {
  const refusal = await services.charge(key, cost);
  if (refusal === null) return null;
  contextOf(response).refusal = refusal.why;
  if (refusal.why === 'limiter-unavailable') services.metrics.limiterFailures.inc();
  return refusal.answer;
}
