import { expect } from '@jest/globals';
import { LIMITS } from '@postrider/domain';
import type { FuzzFixture } from './fuzz-fixture.ts';
import { bodyBytes } from './hostile-bodies.ts';
import { BAD_PAGE, isAccepted } from './hostile-targets.ts';
import { filledPath } from '../route-paths.ts';
import { checkEqual, checkNoneOf, checkOneOf } from './check.ts';
import { expectDocumented } from './expect-documented.ts';
import { judgeAnswer, looksLike } from './judge-answer.ts';
import type { Verdict } from './judge-answer.ts';
import { readAnswers } from './read-answers.ts';
import type { RawAnswer } from './read-answers.ts';
import { isEndless, isGood, isSoundHttp, requestBytes } from './request-spec.ts';
import type { CallerName, RequestSpec } from './request-spec.ts';
import { expectedRefusal, allowedKinds, ROUTE_CONTRACTS, successes } from './route-contracts.ts';
import type { RouteContract } from './route-contract.ts';

/** A request that is meant for a route of the table, by its method and path. */
export interface Aimed {
  readonly name: string;
  readonly spec: RequestSpec;
}

export type Judged = Verdict & {
  /** The pattern that took the request; null for what never became one. */ readonly route: string | null;
};

/** Sends what it is given, and asserts everything that can be said of what comes back. */
export interface Judge {
  /** One request with another behind it, which shows whether the connection still knows where a request begins. */
  one(aimed: Aimed): Promise<Judged | null>;
  /** Several sound requests at once on one connection. */
  pipelined(aimed: readonly Aimed[], pieces: number): Promise<void>;
  /** Any bytes. */
  raw(bytes: Buffer, pieces: number, method?: string): Promise<Judged[]>;
  /** An answer that somebody else has fetched. */
  answer(answer: RawAnswer, method: string): Promise<Judged>;
  /** The bytes of a request. */
  bytesOf(aimed: Aimed): Promise<Buffer>;
  /** What was made, by the ids in the answers, with the body that asked for it where that is known. */
  readonly acknowledged: ReadonlyMap<string, unknown>;
  /** Signing secrets in the answers. */
  readonly secrets: ReadonlySet<string>;
}

const BEHIND = 'GET /healthz HTTP/1.1\r\nHost: api.test\r\n\r\n';
const BARE = ['bare 400', 'bare 404', 'bare 408', 'bare 413', 'bare 431'];

/** What a key, or its lack, leads to whatever else is in the request. */
const GATES: Readonly<Partial<Record<CallerName, string>>> = {
  none: '401 api-key-unauthorized',
  malformed: '401 api-key-unauthorized',
  unknown: '401 api-key-unauthorized',
  revoked: '401 api-key-unauthorized',
  exhausted: '429 rate-limited',
  scopeless: '403 api-key-forbidden',
};

export function createJudge(fixture: FuzzFixture): Judge {
  const bytesOf = (aimed: Aimed): Promise<Buffer> => aimedBytes(fixture, aimed);
  const acknowledged = new Map<string, unknown>();
  const secrets = new Set<string>();

  async function answer(raw: RawAnswer, method: string): Promise<Judged> {
    const verdict = judgeAnswer(raw, method);
    if (verdict.kind.startsWith('bare')) {
      checkOneOf(BARE, verdict.kind);
      return { ...verdict, route: null };
    }
    const line = await fixture.lineOf(verdict.requestId);
    checkOneOf(['info', 'debug'], line.level);
    checkEqual(line.status, raw.status);
    const { signing_secret: secret, standard_secret: standard } = verdict.document ?? {};
    for (const id of raw.status < 300 ? madeBy(line.method, verdict) : []) {
      if (!acknowledged.has(id)) acknowledged.set(id, undefined);
    }
    for (const each of [secret, standard]) if (typeof each === 'string') secrets.add(each);
    judgeByRoute(line.method, line.route, verdict);
    return { ...verdict, route: line.route };
  }

  async function raw(bytes: Buffer, pieces: number, method = 'GET'): Promise<Judged[]> {
    const received = await fixture.exchange(bytes, pieces);
    const judged = [];
    for (const each of readAnswers(received, [method])) judged.push(await answer(each, method));
    return judged;
  }

  async function one(aimed: Aimed): Promise<Judged | null> {
    const bytes = Buffer.concat([await bytesOf(aimed), Buffer.from(BEHIND)]);
    const answers = await raw(bytes, aimed.spec.pieces);
    const [first] = answers;
    const sound = isSoundHttp(aimed.spec);
    if (isEndless(aimed.spec)) expect(answers.length).toBeLessThanOrEqual(1);
    if (first === undefined) {
      checkEqual(sound, false);
      return null;
    }
    if (sound) {
      judgeSound(aimed, first);
      checkEqual(
        answers
          .slice(1)
          .map(({ kind, route }) => `${kind} of ${String(route)}`)
          .join(),
        first.goesOn ? '200 json of /healthz' : '',
      );
      rememberBodies(acknowledged, aimed, first);
    } else if (first.route !== null) judgeGate(aimed, first);
    return first;
  }

  async function pipelined(aimed: readonly Aimed[], pieces: number): Promise<void> {
    const bytes = Buffer.concat(await Promise.all(aimed.map(bytesOf)));
    const answers = await raw(bytes, pieces);
    const last = answers.findIndex(({ goesOn }) => !goesOn);
    expect(answers).toHaveLength(last === -1 ? aimed.length : last + 1);
    answers.forEach((each, index) => judgeSound(aimed[index] as Aimed, each));
  }

  return { one, pipelined, raw, answer, bytesOf, acknowledged, secrets };
}

/** What the request asked for, to be compared with what is stored. */
function rememberBodies(acknowledged: Map<string, unknown>, { name, spec }: Aimed, verdict: Judged): void {
  if (contractOf(name).body === undefined || spec.body === null) return;
  const ids = madeBy(name.split(' ')[0] ?? '', verdict);
  if (ids.length === 0) return;
  const bytes = bodyBytes(spec.body);
  if (bytes.length === 0) return;
  const body = JSON.parse(new TextDecoder().decode(bytes)) as unknown;
  const asked: unknown[] = Array.isArray(body) ? body : [body];
  ids.forEach((id, index) => {
    if (acknowledged.get(id) === undefined) acknowledged.set(id, asked[index]);
  });
}

/** The ids of what a request has made, as its answer tells: a batch has several, a list none. */
function madeBy(method: string, { document }: Verdict): string[] {
  const { id, data } = document ?? {};
  if (method === 'POST' && Array.isArray(data)) return (data as { id: string }[]).map((each) => each.id);
  return typeof id === 'string' ? [id] : [];
}

async function aimedBytes(fixture: FuzzFixture, { name, spec }: Aimed): Promise<Buffer> {
  const [method = '', path = ''] = name.split(' ');
  const { noun } = contractOf(name);
  const id = noun === undefined ? '' : await fixture.idFor(noun, spec.id);
  const target = `${spec.form}${filledPath(path, id)}${spec.query}`;
  return requestBytes(spec, { method, target }, fixture.authorization(spec.caller));
}

function judgeByRoute(method: string, route: string, verdict: Verdict): void {
  // Express asks the routes of a path about a HEAD before it knows that there is no GET.
  const name = `${method === 'HEAD' ? 'GET' : method} ${route}`;
  if (route === 'unmatched' || (method === 'HEAD' && !(name in ROUTE_CONTRACTS))) {
    checkEqual(looksLike('404 not-found', verdict), true);
    if (verdict.document !== null) checkEqual(verdict.document['detail'], 'There is no such route.');
    return;
  }
  const contract = contractOf(name);
  const kinds = allowedKinds(contract);
  expectDocumented(name, verdict);
  if (method === 'HEAD')
    checkEqual(
      kinds.some((kind) => looksLike(kind, verdict)),
      true,
    );
  else checkOneOf(kinds, verdict.kind);
  if (verdict.document === null) return;
  if (verdict.kind === contract.success) contract.judge(verdict.document);
  const listsFaults = contract.listsFaults === true && verdict.kind.endsWith(' validation-failed');
  checkEqual('errors' in verdict.document, listsFaults);
}

const TOO_LARGE = '413 request-too-large';

/** A request that every HTTP server understands has one answer, and the request says much about which. */
function judgeSound(aimed: Aimed, verdict: Judged): void {
  const { name, spec } = aimed;
  const contract = contractOf(name);
  checkNoneOf([null], verdict.route);
  if (contract.noun !== undefined && spec.id.kind === 'odd') return;
  checkEqual(verdict.route, name.split(' ')[1]);
  judgeGate(aimed, verdict);
  const invalid = contract.refusals.filter((refusal) => refusal.endsWith(' validation-failed'));
  const badPage = contract.paged === true && spec.query === BAD_PAGE;
  const mayBeRefused = !badPage && !isAccepted(spec.query, contract);
  if (gateOf(contract, spec.caller) !== undefined) return;
  if (isGood(spec, contract.noun !== undefined))
    checkOneOf(badPage ? invalid : [...successes(contract), ...(mayBeRefused ? invalid : [])], verdict.kind);
  const absent =
    contract.noun !== undefined &&
    (spec.id.kind === 'missing' || (contract.keyed && isStranger(spec.caller)));
  const found = absent ? [contract.absent ?? '404 not-found'] : successes(contract);
  // Whose list it would be may be asked for first.
  const outcomes = badPage
    ? [...invalid, ...(absent ? found : [])]
    : [...found, ...(mayBeRefused ? invalid : [])];
  const takesNone = contract.body === undefined && allowedKinds(contract).includes(TOO_LARGE);
  if (takesNone && countedBytes(name, spec) > LIMITS.bodyBytes) {
    checkEqual(verdict.kind, TOO_LARGE);
    return;
  }
  if (contract.body === undefined || spec.body === null) {
    if (absent) checkOneOf(outcomes, verdict.kind);
    return;
  }
  if (spec.harmful.some(([header]) => header === 'Content-Encoding')) {
    checkOneOf([contract.body.unreadable, contract.body.tooLarge], verdict.kind);
  }
  if (spec.harmful.length > 0) return;
  const kind = expectedRefusal(contract.body, bodyBytes(spec.body));
  const missing = contract.body.names === true ? ['404 not-found'] : [];
  const { lacking } = contract.body;
  const isSettled = kind !== null && !(absent && lacking?.afterPath === true && kind === lacking.kind);
  checkOneOf(isSettled ? [kind] : [...outcomes, ...invalid, ...missing], verdict.kind);
}

/** The bytes of the body that a route without one looks at. A GET does not wait for chunks. */
function countedBytes(name: string, { body, framing }: RequestSpec): number {
  if (body === null || (framing !== 'length' && name.startsWith('GET '))) return 0;
  return bodyBytes(body).length;
}

/** All that is named in a path is the live key's: another account, and a test key, find nothing there. */
function isStranger(caller: CallerName): boolean {
  return caller === 'other' || caller === 'test';
}

/** What the key, or its lack, leads to on this route; undefined: to nothing. */
function gateOf(contract: RouteContract, caller: CallerName): string | undefined {
  if (!contract.keyed || (contract.unlimited === true && caller === 'exhausted')) return undefined;
  if (caller === 'test' && contract.ofMail !== true) return GATES.scopeless;
  return GATES[caller];
}

function judgeGate({ name, spec }: Aimed, verdict: Judged): void {
  const contract = contractOf(name);
  if (verdict.route !== name.split(' ')[1] || !contract.keyed) return;
  const gate = gateOf(contract, spec.caller);
  if (gate === undefined) checkNoneOf(Object.values(GATES), verdict.kind);
  else checkEqual(verdict.kind, gate);
}

function contractOf(name: string): RouteContract {
  const contract = ROUTE_CONTRACTS[name];
  if (contract === undefined) throw new Error(`no contract for ${name}`);
  return contract;
}
