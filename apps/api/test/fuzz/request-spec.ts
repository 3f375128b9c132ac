import fc from 'fast-check';
import { bodies, bodyBytes, isUntouched } from './hostile-bodies.ts';
import type { BodySpec } from './hostile-bodies.ts';
import { harmfulHeaders, harmlessHeaders } from './hostile-headers.ts';
import type { HeaderLine } from './hostile-headers.ts';
import { oddIds, queries, queriesOf } from './hostile-targets.ts';
import type { RouteContract } from './route-contract.ts';

/** Who calls. All keys but `other` belong to one account. */
export const CALLERS = [
  'live',
  'test',
  'other',
  'none',
  'malformed',
  'unknown',
  'revoked',
  'scopeless',
  'exhausted',
] as const;
export type CallerName = (typeof CALLERS)[number];

/** Which resource the path names. */
export type IdSpec =
  | { readonly kind: 'own' | 'own, escaped' | 'missing' }
  | { readonly kind: 'odd'; readonly text: string };

/** How the body is announced and sent. Only the first three are HTTP as it should be. */
const FRAMINGS = [
  'length',
  'chunked',
  'chunked with trailers',
  'too long a length',
  'too short a length',
  'no length',
  'length and chunks',
  'two lengths',
  'a negative length',
  'an endless length',
  'chunks that are none',
  'chunks without an end',
  'a length in the trailers',
  'gzip, chunked',
  'a long chunk extension',
] as const;
export type Framing = (typeof FRAMINGS)[number];
const SOUND: readonly Framing[] = ['length', 'chunked', 'chunked with trailers'];

/** With these the body goes on for ever: whatever comes behind it belongs to the same request. */
const ENDLESS: readonly Framing[] = ['too long a length', 'chunks without an end'];

/** A request to one route, as plain values: what fast-check prints is what was sent. */
export interface RequestSpec {
  readonly caller: CallerName;
  readonly id: IdSpec;
  readonly form: '' | 'http://a.test' | 'https://u:p@a.test:1';
  readonly query: string;
  readonly version: '1.1' | '1.0';
  readonly harmless: readonly HeaderLine[];
  readonly harmful: readonly HeaderLine[];
  readonly body: BodySpec | null;
  readonly framing: Framing;
  /** Into how many pieces the bytes are cut on their way. */
  readonly pieces: number;
}

/** One that nothing is wrong with, but for `change`. */
export function goodRequest(
  { body: contract, query = '' }: RouteContract,
  change: Partial<RequestSpec> = {},
): RequestSpec {
  const [from] = contract?.valid ?? [];
  return {
    caller: 'live',
    id: { kind: 'own' },
    form: '',
    query,
    version: '1.1',
    harmless: [],
    harmful: [],
    body: from === undefined ? null : { from, changes: [], encoding: 'none' },
    framing: 'length',
    pieces: 1,
    ...change,
  };
}

/** Nothing about it is wrong: the route must do what it is for. A test key owns nothing that a path names. */
export function isGood({ caller, id, harmful, body, framing }: RequestSpec, hasId: boolean): boolean {
  return (
    (caller === 'live' || (caller === 'test' && !hasId)) &&
    ['own', 'own, escaped'].includes(id.kind) &&
    harmful.length === 0 &&
    (body === null || isUntouched(body)) &&
    SOUND.includes(framing)
  );
}

/** A parser that keeps to the RFC takes it, whatever the API has to say. */
export function isSoundHttp({ framing, version }: RequestSpec): boolean {
  // HTTP/1.0 has no chunks.
  return SOUND.includes(framing) && (version === '1.1' || framing === 'length');
}

/** However much comes, it is one request, and has one answer. */
export function isEndless({ framing }: RequestSpec): boolean {
  return ENDLESS.includes(framing);
}

/** To a route of this contract. One without a body is sent some all the same. */
export function requests(
  contract: Pick<RouteContract, 'body' | 'noun' | 'parameters' | 'query'>,
): fc.Arbitrary<RequestSpec> {
  const validBodies = contract.body?.valid ?? [];
  const sometimes = bodies([{ endpoint: 'https://a.example' }]);
  return fc.record({
    caller: fc.oneof(
      { weight: 2, arbitrary: fc.constantFrom('live' as const, 'test' as const) },
      { weight: 1, arbitrary: fc.constantFrom(...CALLERS) },
    ),
    id: contract.noun !== undefined ? ids : fc.constant({ kind: 'own' as const }),
    form: fc.oneof(
      { weight: 5, arbitrary: fc.constant('' as const) },
      { weight: 1, arbitrary: fc.constantFrom('http://a.test' as const, 'https://u:p@a.test:1' as const) },
    ),
    query: contract.parameters === undefined ? queries : fc.oneof(queries, queriesOf(contract.parameters)),
    version: fc.oneof(
      { weight: 6, arbitrary: fc.constant('1.1' as const) },
      { weight: 1, arbitrary: fc.constant('1.0' as const) },
    ),
    harmless: harmlessHeaders,
    harmful: harmfulHeaders,
    body: validBodies.length > 0 ? bodies(validBodies) : fc.option(sometimes, { freq: 2 }),
    framing: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...SOUND) },
      { weight: 1, arbitrary: fc.constantFrom(...FRAMINGS) },
    ),
    pieces: fc.constantFrom(1, 1, 2, 7),
  });
}

const ids: fc.Arbitrary<IdSpec> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<IdSpec>({ kind: 'own' }, { kind: 'own, escaped' }) },
  { weight: 1, arbitrary: fc.constant<IdSpec>({ kind: 'missing' }) },
  { weight: 3, arbitrary: oddIds.map((text) => ({ kind: 'odd' as const, text })) },
);

/** The bytes of a request. @param key the value of `Authorization`; null: none is sent. */
export function requestBytes(
  spec: RequestSpec,
  line: { readonly method: string; readonly target: string },
  key: string | null,
): Buffer {
  const body = spec.body === null ? Buffer.alloc(0) : bodyBytes(spec.body);
  const framed = spec.body === null && SOUND.includes(spec.framing) ? UNFRAMED : framings[spec.framing](body);
  const lines = [
    `${line.method} ${line.target} HTTP/${spec.version}`,
    'Host: api.test',
    ...(key === null ? [] : [`Authorization: ${key}`]),
    ...[...spec.harmless, ...spec.harmful].map(([name, value]) => `${name}: ${value}`),
    ...framed.headers,
    '',
    '',
  ];
  return Buffer.concat([Buffer.from(lines.join('\r\n'), 'latin1'), framed.payload]);
}

interface Framed {
  readonly headers: readonly string[];
  readonly payload: Buffer;
}

const UNFRAMED: Framed = { headers: [], payload: Buffer.alloc(0) };

const framings: Readonly<Record<Framing, (body: Buffer) => Framed>> = {
  length: (body) => declared(body, body.length),
  chunked: (body) => inChunks(body, '0\r\n\r\n'),
  'chunked with trailers': (body) => inChunks(body, '0\r\nX-Request-Id: a\r\n\r\n'),
  'too long a length': (body) => declared(body, body.length + 10_000),
  'too short a length': (body) => declared(body, Math.floor(body.length / 2)),
  'no length': (body) => ({ headers: [], payload: body }),
  'length and chunks': (body) => inChunks(body, '0\r\n\r\n', [`Content-Length: ${body.length}`]),
  'two lengths': (body) => ({
    headers: [`Content-Length: ${body.length}`, `Content-Length: ${body.length}`],
    payload: body,
  }),
  'a negative length': (body) => declared(body, -1),
  'an endless length': (body) => declared(body, '99999999999999999999999'),
  'chunks that are none': (body) => ({ headers: ['Transfer-Encoding: chunked'], payload: body }),
  'chunks without an end': (body) => inChunks(body, ''),
  'a length in the trailers': (body) => inChunks(body, '0\r\nContent-Length: 1\r\n\r\n'),
  'gzip, chunked': (body) => ({
    ...inChunks(body, '0\r\n\r\n'),
    headers: ['Transfer-Encoding: gzip, chunked'],
  }),
  'a long chunk extension': (body) => inChunks(body, `0;${'a=b;'.repeat(5_000)}\r\n\r\n`),
};

function declared(body: Buffer, length: number | string): Framed {
  return { headers: [`Content-Length: ${length}`], payload: body };
}

function inChunks(body: Buffer, end: string, more: readonly string[] = []): Framed {
  const middle = Math.ceil(body.length / 3);
  const chunks = [body.subarray(0, middle), body.subarray(middle)]
    .filter((chunk) => chunk.length > 0)
    .flatMap((chunk) => [Buffer.from(`${chunk.length.toString(16)};a="b"\r\n`), chunk, Buffer.from('\r\n')]);
  return {
    headers: ['Transfer-Encoding: chunked', ...more],
    payload: Buffer.concat([...chunks, Buffer.from(end)]),
  };
}
