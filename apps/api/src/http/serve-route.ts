import type { IncomingMessage, ServerResponse } from 'node:http';
import { grants } from '@postrider/domain';
import type { Metrics } from '@postrider/runtime';
import type { ApiKey, ApiKeyStore } from '@postrider/store';
import {
  forbidden,
  forLiveKeys,
  noRoom,
  noRoomNow,
  tooMuchAtWork,
  unauthorized,
} from '../problems/answers.ts';
import type { KeyedRoute, KeylessRoute, Route } from '../routes/route.ts';
import type { AccountTurns } from './account-turns.ts';
import type { Answer } from './answer.ts';
import { authenticate } from './authenticate.ts';
import { behindGate, NoTurnError } from './body-gate.ts';
import type { BodyGate, Intake } from './body-gate.ts';
import type { Charge, LimitOf } from './charge.ts';
import { readBytes, readJson, refuseIgnored } from './read-body.ts';
import type { BodyRead } from './read-body.ts';
import { contextOf } from './request-context.ts';
import { requestOrigin } from './request-origin.ts';
import type { Send } from './send.ts';

/** What the stages before a handler need. */
export interface Gates {
  readonly apiKeys: Pick<ApiKeyStore, 'findActive'>;
  readonly limitOf: LimitOf;
  readonly charge: Charge;
  /** Before every body that is read. */
  readonly bodies: BodyGate;
  /** Before the handlers of routes without a limit. */
  readonly turns: AccountTurns;
  readonly metrics: Pick<Metrics<'api'>, 'limiterFailures'>;
}

/** What Express hands to a route. */
interface MatchedRequest extends IncomingMessage {
  readonly params: Readonly<Record<string, string | string[]>>;
}

/** Of a request, unless its route says otherwise. */
const COST = 1;
const NO_BODY = Buffer.alloc(0);
/** Who shares what there is for bodies with all others that bring no key; no key has this id. */
const KEYLESS = 'keyless';

/**
 * Serves one route in the order that every route keeps: key (401), limit (429), scope and kind of key (403),
 * body (413, syntax), then the route's own rules. That the route exists (404) has been settled before. A
 * keyless route begins with the body; one whose cost is in its body is charged behind that, and only looked at
 * for what is left before; its body waits for its turn.
 */
export function serveRoute(route: Route, gates: Gates, send: Send) {
  return async (request: MatchedRequest, response: ServerResponse): Promise<void> => {
    const answer =
      route.scope === null
        ? await keylessAnswer(route, gates, request, response)
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
  const charge = (cost: number | null) => refuseOverLimit(key, cost, gates, response);
  if (isPricedByBody(route)) {
    const early = await charge(null);
    return early ?? pricedAnswer(route, { key, charge }, gates, request, response);
  }
  const early = route.limited ? await charge(COST) : null;
  return early ?? plainAnswer(route, key, gates, request, response);
}

/**
 * What a request goes through that has been charged, or is not: its body finds room, or it is refused. One that is not charged
 * waits for its account's turn, too.
 */
async function plainAnswer(
  route: KeyedRoute,
  key: ApiKey,
  { bodies, limitOf, turns }: Gates,
  request: MatchedRequest,
  response: ServerResponse,
): Promise<Answer> {
  const work = async (intake: Intake): Promise<Answer> => {
    const read = await bodyFor(key, route, request, response, intake);
    const handle = async (): Promise<Answer> => handled(key, route, request, read);
    if (route.limited || !read.ok) return handle();
    return (await turns.during(key.accountId, handle, response)) ?? tooMuchAtWork;
  };
  const visit = bodies.enter(key.id, false);
  const noTurn = route.limited ? noRoom(COST, limitOf(key)) : noRoomNow;
  return behindGate(visit, request, response, work).catch(answerTo(noTurn));
}

/** One whose cost is in its body. */
type PricedRoute = KeyedRoute & Required<Pick<KeyedRoute, 'cost'>>;

function isPricedByBody(route: KeyedRoute): route is PricedRoute {
  return route.cost !== undefined;
}

/** Whose request it is, and how it is charged. */
interface Payer {
  readonly key: ApiKey;
  readonly charge: (cost: number) => Promise<Answer | null>;
}

/** What a request that is charged behind its body goes through, once its key's window is known to have something left. */
async function pricedAnswer(
  route: PricedRoute,
  { key, charge }: Payer,
  { bodies, limitOf }: Gates,
  request: MatchedRequest,
  response: ServerResponse,
): Promise<Answer> {
  const work = async (intake: Intake): Promise<Answer> => {
    const read = await bodyFor(key, route, request, response, intake).catch(async (error: unknown) => {
      // Broken off in the middle: not even that is free.
      if (!(error instanceof NoTurnError)) await charge(COST);
      throw error;
    });
    const { cost, refusal } = read.ok ? route.cost(read.body) : { cost: COST, refusal: null };
    const late = cost > 0 ? await charge(cost) : null;
    return late ?? refusal ?? handled(key, route, request, read);
  };
  const visit = bodies.enter(key.id, true);
  return behindGate(visit, request, response, work).catch(answerTo(noRoom(null, limitOf(key))));
}

/** Answers to a body that has had no room in time. */
function answerTo(noTurn: Answer) {
  return (error: unknown): Answer => {
    if (error instanceof NoTurnError) return noTurn;
    throw error;
  };
}

async function handled(
  key: ApiKey,
  route: KeyedRoute,
  request: MatchedRequest,
  read: BodyRead<unknown>,
): Promise<Answer> {
  if (!read.ok) return read.refusal;
  const params = paramsOf(request);
  const asked = { key, id: idOf(params), params, query: queryOf(request), headers: request.headers };
  return route.handle({ ...asked, origin: requestOrigin(request), body: read.body });
}

async function bodyFor(
  key: ApiKey,
  route: KeyedRoute,
  request: MatchedRequest,
  response: ServerResponse,
  intake: Intake,
): Promise<BodyRead<unknown>> {
  if (!grants(key.scopes, route.scope)) return { ok: false, refusal: forbidden(route.scope) };
  if (route.liveOnly === true && key.kind !== 'live') return { ok: false, refusal: forLiveKeys };
  if (route.body !== 'ignored') return readJson(request, response, route.body, intake);
  const refusal = refuseIgnored(request);
  return refusal === null ? { ok: true, body: undefined } : { ok: false, refusal };
}

async function keylessAnswer(
  route: KeylessRoute,
  { bodies }: Gates,
  request: MatchedRequest,
  response: ServerResponse,
): Promise<Answer> {
  const { requestId } = contextOf(response);
  const { method = '', headers } = request;
  const given = { id: idOf(paramsOf(request)), method, headers, requestId };
  const rule = route.body;
  if (rule === 'ignored') return refuseIgnored(request) ?? route.handle({ ...given, body: NO_BODY });
  const work = async (intake: Intake): Promise<Answer> => {
    const read = await readBytes(request, response, rule, intake);
    return read.ok ? route.handle({ ...given, body: read.body }) : read.refusal;
  };
  return behindGate(bodies.enter(KEYLESS, false), request, response, work).catch(answerTo(noRoomNow));
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

/** What a target cannot say in percent-escapes is read as U+FFFD: the parameter is then somebody's fault, not ours. */
function queryOf({ url = '' }: IncomingMessage): URLSearchParams {
  const at = url.indexOf('?');
  return new URLSearchParams(at === -1 ? '' : url.slice(at + 1));
}

async function refuseOverLimit(
  key: ApiKey,
  cost: number | null,
  gates: Gates,
  response: ServerResponse,
): Promise<Answer | null> {
  const refusal = await gates.charge(key, cost);
  if (refusal === null) return null;
  contextOf(response).refusal = refusal.why;
  if (refusal.why === 'limiter-unavailable') gates.metrics.limiterFailures.inc();
  return refusal.answer;
}
