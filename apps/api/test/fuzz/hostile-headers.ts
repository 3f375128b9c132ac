import fc from 'fast-check';

/** A field line as sent; the value in Latin-1. */
export type HeaderLine = readonly [name: string, value: string];

/** What may stand in any request and changes nothing about its answer. */
const HARMLESS: readonly HeaderLine[] = [
  ['Content-Type', 'application/json'],
  ['Content-Type', 'application/json; charset=utf-8'],
  ['Content-Type', 'application/json; charset=utf-16'],
  ['Content-Type', 'text/plain; charset="utf-7"'],
  ['Content-Type', 'multipart/form-data; boundary='],
  ['Content-Type', '\xff/\xfe;;;='],
  ['Content-Type', ''],
  ['Content-Encoding', 'identity'],
  ['Content-Encoding', ' IDENTITY '],
  ['Content-Encoding', ''],
  ['Accept', 'text/html;q=1, */*;q=0'],
  ['Accept', 'application/xml'],
  ['Accept-Encoding', 'gzip, br;q=0, *;q=\xbd'],
  ['Accept-Language', '\xe9'.repeat(300)],
  ['Accept-Charset', 'utf-7'],
  ['X-Request-Id', 'req_00000000000000000000000000000000'],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['X-Forwarded-For', '127.0.0.1, \xff'],
  ['X-Forwarded-Host', 'evil.test'],
  ['Forwarded', 'for="[::1]";proto=https'],
  ['If-None-Match', '*'],
  ['If-Modified-Since', 'Thu, 01 Jan 2099 00:00:00 GMT'],
  ['Range', 'bytes=0-0'],
  ['Origin', 'null'],
  ['Access-Control-Request-Method', 'DELETE'],
  ['Cookie', '__proto__=1; a="'],
  ['Expect', '100-continue'],
  ['Expect', '100-Continue, miracles'],
  ['Expect', 'miracles'],
  ['Upgrade', 'h2c, websocket'],
  ['TE', 'trailers, chunked;q=0'],
  ['Trailer', 'Content-Length'],
  ['Keep-Alive', 'timeout=0, max=-1'],
  ['Host', ''],
  ['Host', 'a b:c@[::1'],
  ['__proto__', 'x'],
  ['constructor', 'x'],
  ['toString', 'x'],
  ['hasOwnProperty', 'x'],
  ['X', 'y'.repeat(1_000)],
  ['X-Tab', '\ta\tb\t'],
  ['Authorization', 'Bearer second'],
  ['Proxy-Authorization', 'Basic Og=='],
  ["!#$%&'*+-.^_`|~", 'a token is a name'],
];

/** What changes the answer, or makes the request one that is refused. */
const HARMFUL: readonly HeaderLine[] = [
  ['Content-Encoding', 'gzip'],
  ['Content-Encoding', 'br, gzip'],
  ['Content-Encoding', 'x-nothing'],
  ['Content-Encoding', '\xff'],
  ['Idempotency-Key', 'a'],
  ['Idempotency-Key', ''],
  ['Idempotency-Key', '\xff'.repeat(300)],
  ['Connection', 'close'],
  ['Connection', 'keep-alive, upgrade, content-length'],
  ['Connection', 'x-request-id, cache-control'],
];

const VALUE_BYTES = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).filter(
  (character) => !/[\u0000-\u0008\u000a-\u001f\u007f]/.test(character),
);
const TOKEN = "!#$%&'*+-.^_`|~09AZaz".split('');
/** Prefixed, so that it never means anything to anybody. */
const madeUp: fc.Arbitrary<HeaderLine> = fc.tuple(
  fc.string({ unit: fc.constantFrom(...TOKEN), maxLength: 20 }).map((rest) => `X-${rest}`),
  fc.string({ unit: fc.constantFrom(...VALUE_BYTES), maxLength: 40 }),
);

export const harmlessHeaders = fc.array(fc.oneof(fc.constantFrom(...HARMLESS), madeUp), { maxLength: 4 });
export const harmfulHeaders = fc.oneof(
  { weight: 3, arbitrary: fc.constant<HeaderLine[]>([]) },
  { weight: 1, arbitrary: fc.array(fc.constantFrom(...HARMFUL), { minLength: 1, maxLength: 2 }) },
);
