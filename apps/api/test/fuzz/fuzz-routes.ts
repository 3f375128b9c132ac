import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runs } from '@postrider/testing';
import fc from 'fast-check';
import { startFuzzFixture } from './fuzz-fixture.ts';
import type { FuzzFixture } from './fuzz-fixture.ts';
import { bodyBytes, bodySweep } from './hostile-bodies.ts';
import { BAD_PAGE, methods, ODD_IDS, targets } from './hostile-targets.ts';
import { createJudge } from './judge-exchange.ts';
import type { Aimed, Judge } from './judge-exchange.ts';
import { spoiledBytes, spoilings } from './spoiled-bytes.ts';
import { CALLERS, goodRequest, requests } from './request-spec.ts';
import type { RequestSpec } from './request-spec.ts';
import { MARK } from './route-contract.ts';
import { allowedKinds, ROUTE_CONTRACTS, successes } from './route-contracts.ts';
import type { RouteContract } from './route-contract.ts';
import { judgeStoredRows } from './stored-rows.ts';
import { filledPath } from '../route-paths.ts';

/** How many random requests each test sends to one route. The other counts follow from it. */
export const RUNS = runs({ usual: 12, long: 2_000 });
/** Each odd id goes to one of so many routes. */
const ROUTES_PER_ODD_ID = runs({ usual: 4, long: 1 });
const TIMEOUT_MS = 60_000 + 4_000 * RUNS;
/** The seed of a fault is printed before the time limit of its test passes. */
const IN_TIME = { plugins: [fc.interruptAfterTimeLimit(TIMEOUT_MS - 30_000, { failOnInterrupt: true })] };

type NamedRoute = readonly [name: string, contract: RouteContract];

const ROUTES = Object.entries(ROUTE_CONTRACTS);
const PATHS = [...new Set(ROUTES.map(([name]) => name.split(' ')[1] ?? ''))];

let fixture: FuzzFixture;
let judge: Judge;

/** What one test file fuzzes. Two files share the routes, so that they can run side by side. */
export interface RoutesUnderTest {
  readonly includes: (path: string) => boolean;
  /** The types of all events that the routes may have recorded. */
  readonly eventTypes: readonly string[];
  /** How many answers show a signing secret, at least. */
  readonly secretsMin: number;
}

/** Defines the tests of the routes on an API of their own. */
export function fuzzRoutes(underTest: RoutesUnderTest): void {
  const routes = ROUTES.filter(([name]) => underTest.includes(name.split(' ')[1] ?? ''));
  beforeAll(async () => {
    fixture = await startFuzzFixture();
    judge = createJudge(fixture);
  });
  afterAll(() => fixture.stop());

  describe.each(routes)('%s', testOneRoute);
  testAllRoutes(routes);
  describe('after all that', () => testWhatIsLeft(routes, underTest));
}

/** Defines the tests that concern no single route. */
export function fuzzTargets(): void {
  test('the fuzz tests know every route of the application', () => {
    expect([...fixture.routes].sort()).toEqual(Object.keys(ROUTE_CONTRACTS).sort());
  });

  test(
    'any method on any target is answered, by a route or by the one 404',
    async () => {
      const property = fc.asyncProperty(methods, targets(PATHS), async (method, target) => {
        const key = fixture.authorization('live') ?? '';
        const lines = [`${method} ${target} HTTP/1.1`, 'Host: api.test', `Authorization: ${key}`, '', ''];
        await judge.raw(Buffer.from(lines.join('\r\n'), 'latin1'), 1, method);
      });
      const examples: [string, string][] = [
        ['DELETE', '/v1/webhooks/%'],
        ['POST', '/v1/webhooks/dead-letters/%E0%A4%A/replay'],
        ['GET', '/v1/emails/%00'],
        ['GET', 'http://['],
        ['OPTIONS', '*'],
        ['HEAD', '/v1/emails'],
      ];
      await fc.assert(property, { ...IN_TIME, numRuns: 3 * RUNS, examples });
    },
    TIMEOUT_MS,
  );
}

/** These come first, whatever the seed. With them alone, the route gives every kind of answer that it has. */
function examplesOf(name: string, contract: RouteContract): RequestSpec[] {
  const valid = contract.body?.valid ?? [];
  const place = placeOf(name);
  return [
    ...CALLERS.map((caller) => goodRequest(contract, { caller })),
    ...valid.map((from) => goodRequest(contract, { body: { from, changes: [], encoding: 'none' } })),
    ...valid
      .slice(-1)
      .flatMap((from) => bodySweep(from, place).map((body) => goodRequest(contract, { body }))),
    ...(contract.body?.spoilt ?? []).map((change) =>
      goodRequest(contract, { body: { from: valid[0] ?? {}, changes: [change], encoding: 'none' } }),
    ),
    goodRequest(contract, { id: { kind: 'own, escaped' } }),
    goodRequest(contract, { id: { kind: 'missing' } }),
    goodRequest(contract, { query: BAD_PAGE }),
    ...Object.entries(contract.parameters ?? {}).flatMap(([parameter, accepted]) =>
      [...accepted, '%27'].map((value) => goodRequest(contract, { query: `?${parameter}=${value}` })),
    ),
    ...(contract.idempotent === undefined ? [] : valid).map((from) =>
      goodRequest(contract, {
        body: { from, changes: [], encoding: 'none' },
        harmful: [['Idempotency-Key', 'one key for several requests']],
      }),
    ),
    goodRequest(contract, { harmful: [['Content-Encoding', 'gzip']] }),
    goodRequest(contract, { harmless: [['Range', 'bytes=0-0']] }),
    ...(contract.noun === undefined ? [] : oddIdsOf(name)).map((text) =>
      goodRequest(contract, { id: { kind: 'odd', text } }),
    ),
    ...FOUND.map((change) => goodRequest(contract, change)),
  ];
}

function oddIdsOf(name: string): string[] {
  return ODD_IDS.filter((_, n) => (n + placeOf(name)) % ROUTES_PER_ODD_ID === 0);
}

function placeOf(name: string): number {
  return ROUTES.findIndex(([route]) => route === name);
}

/** What earlier runs have found, and was mended. */
const FOUND: readonly Partial<RequestSpec>[] = [
  // Node threw away what came behind a request that asks for an upgrade; the client waited for ever.
  { harmless: [['Upgrade', 'h2c']], harmful: [['Connection', 'keep-alive, upgrade']] },
  // The connection was closed with only the head of a refusal sent.
  { id: { kind: 'odd', text: '/' }, framing: 'chunks that are none' },
  { id: { kind: 'odd', text: '/' }, framing: 'chunks without an end' },
];

/** Longer than the fuzz sends: looked at in body.db.test.ts, in refused-unread.db.test.ts, and beside the route. */
const isUnseen = (name: string, { body }: RouteContract, kind: string): boolean =>
  UNSEEN.includes(`${name} ${kind}`) ||
  kind === '403 held-needs-manage' || // the keys of the fuzz have every scope or none
  (body === undefined && kind === '413 request-too-large');
const UNSEEN = [
  'POST /v1/emails 413 text',
  'POST /v1/emails 413 request-too-large',
  'POST /internal/ses/sns 413 request-too-large',
  'POST /v1/emails/batch 413 request-too-large',
  'POST /v1/inboxes 403 inbox-limit', // more than the accounts of the fuzz may make
  'POST /v1/inboxes/:id/threads/:thread/emails/:email/reply 413 request-too-large',
  'POST /v1/inboxes/:id/threads/:thread/emails/:email/forward 413 request-too-large',
  // Each inbox of the fuzz has a thread of its own, and sends once.
  ...[
    'POST /v1/emails',
    'POST /v1/emails/batch',
    'POST /v1/inboxes/:id/threads/:thread/emails/:email/reply',
    'POST /v1/inboxes/:id/threads/:thread/emails/:email/forward',
  ].flatMap((name) => [`${name} 429 inbox-rate-limited`, `${name} 429 thread-rate-limited`]),
  // It releases each message once.
  'POST /v1/inbound/messages/:id/release 409 not-held',
];

function testOneRoute(name: string, contract: RouteContract): void {
  test(
    'answers every request as the contract says, whoever calls with whatever body',
    async () => {
      const seen = new Set<string>();
      const sent = requests(contract);
      const property = fc.asyncProperty(sent, async (spec) => {
        seen.add((await judge.one({ name, spec }))?.kind ?? 'none');
      });
      const examples = examplesOf(name, contract).map((spec): [RequestSpec] => [spec]);
      // The operator's routes look at nothing that a request carries.
      const numRuns = examples.length + (contract.keyed ? RUNS : Math.ceil(RUNS / 4));
      await fc.assert(property, { ...IN_TIME, numRuns, examples });
      const expected = allowedKinds(contract).filter((kind) => !isUnseen(name, contract, kind));
      expect([...seen]).toEqual(expect.arrayContaining(expected));
    },
    TIMEOUT_MS,
  );
}

/** Half of the runs: each of the two files makes as many. */
function testAllRoutes(routes: readonly NamedRoute[]): void {
  /** A request to any of the routes. */
  const anyRequest: fc.Arbitrary<Aimed> = fc.oneof(
    ...routes.map(([name, contract]) => requests(contract).map((spec) => ({ name, spec }))),
  );
  /** Nothing in it keeps the connection from going on. */
  const soundRequest = anyRequest.map(({ name, spec }): Aimed => {
    const framing = spec.framing.startsWith('chunked') ? spec.framing : 'length';
    return { name, spec: { ...spec, framing, version: '1.1', harmful: [] } };
  });

  test(
    'many requests on one connection are answered in their order, each as if it were alone',
    async () => {
      const property = fc.asyncProperty(
        fc.array(soundRequest, { minLength: 2, maxLength: 6 }),
        fc.constantFrom(1, 3, 20),
        async (aimed, pieces) => judge.pipelined(aimed, pieces),
      );
      await fc.assert(property, { ...IN_TIME, numRuns: Math.ceil(RUNS / 2) });
    },
    TIMEOUT_MS,
  );

  test(
    'a request with bytes changed, lost or doubled is answered, or refused as none, and is stored only if answered so',
    async () => {
      const property = fc.asyncProperty(
        anyRequest,
        spoilings,
        fc.constantFrom(1, 9),
        async (aimed, spoils, pieces) => {
          const bytes = await judge.bytesOf(aimed);
          await judge.raw(spoiledBytes(bytes, spoils), pieces);
        },
      );
      await fc.assert(property, { ...IN_TIME, numRuns: Math.ceil((3 * RUNS) / 2) });
    },
    TIMEOUT_MS,
  );

  test(
    'an ordinary client that keeps its connections gets the same answers',
    async () => {
      const property = fc.asyncProperty(soundRequest, sendByFetch);
      await fc.assert(property, { ...IN_TIME, numRuns: Math.ceil(RUNS / 2) });
    },
    TIMEOUT_MS,
  );
}

async function sendByFetch({ name, spec }: Aimed): Promise<void> {
  const [method = '', path = ''] = name.split(' ');
  const { noun } = ROUTE_CONTRACTS[name] ?? {};
  const id = noun === undefined ? '' : await fixture.idFor(noun, { kind: 'missing' });
  const key = fixture.authorization(spec.caller);
  const response = await fetch(`${fixture.api.url}${filledPath(path, id)}${spec.query}`, {
    method,
    headers: key === null ? {} : { authorization: key },
    body: method === 'POST' && spec.body !== null ? Uint8Array.from(bodyBytes(spec.body)) : null,
  });
  const headers = new Map([...response.headers].map(([header, value]) => [header, [value]]));
  const body = Buffer.from(await response.arrayBuffer());
  await judge.answer({ status: response.status, headers, body }, method);
}

function testWhatIsLeft(routes: readonly NamedRoute[], { eventTypes, secretsMin }: RoutesUnderTest): void {
  test('the API still serves', async () => {
    for (const [name, contract] of routes) {
      const judged = await judge.one({ name, spec: goodRequest(contract) });
      expect(successes(contract)).toContain(judged?.kind);
      // An empty page would compare no entry with its schema.
      if (contract.paged === true) expect(judged?.document?.['data']).not.toEqual([]);
    }
  });

  test('what is stored may be stored, belongs to those who called, and was acknowledged', async () => {
    const accounts = [fixture.callers.live.accountId, fixture.callers.other.accountId];
    const made = [...fixture.made].map((id): [string, unknown] => [id, undefined]);
    const acknowledged = new Map([...made, ...judge.acknowledged]);
    const { webhooks, emails, events } = await judgeStoredRows(fixture.api.database, accounts, acknowledged);
    expect(Math.min(webhooks, emails)).toBeGreaterThan(RUNS / 10);
    expect(events).toEqual(eventTypes);
  });

  test('the log has no error, no key, no secret and nothing of a body', () => {
    const log = fixture.api.log();
    expect(log.split('\n').filter((line) => line.includes('"level":"error"'))).toEqual([]);
    const { live, test: testing, other } = fixture.callers;
    const words = [live, testing, other].map(({ key }) => key.slice(8));
    expect(judge.secrets.size).toBeGreaterThanOrEqual(secretsMin);
    for (const word of [...words, ...judge.secrets, MARK]) expect(log.includes(word)).toBe(false);
  });

  test('the metrics name no path but those of the routes', async () => {
    const text = await (await fetch(`${fixture.api.url}/metrics`)).text();
    const named = [...text.matchAll(/route="([^"]*)"/g)].map(([, route]) => route ?? '');
    expect([...PATHS, 'unmatched']).toEqual(expect.arrayContaining([...new Set(named)]));
    expect(text).not.toContain(MARK);
  });
}
