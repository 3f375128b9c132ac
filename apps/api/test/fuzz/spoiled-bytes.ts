import fc from 'fast-check';

/** One thing done to the bytes of a request, at a place counted from its start and around. */
export type Spoiling =
  | { readonly at: number; readonly insert: string }
  | { readonly at: number; readonly remove: number }
  | { readonly at: number; readonly copy: number; readonly to: number };

/** What is put between other bytes, in Latin-1: delimiters of HTTP, and what looks like them. */
const BITS = [
  '\0',
  '\r',
  '\n',
  '\r\n',
  '\r\n\r\n',
  '\n\n',
  ' ',
  '\t',
  ':',
  '\x7f',
  '\x80',
  '\xff',
  '\xc0\xaf',
  '0\r\n\r\n',
  'HTTP/1.1',
  ' HTTP/2.0\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\r\nContent-Length: 0',
  '\r\nContent-Length: 5',
  '\r\nContent-Length : 5',
  '\r\n Content-Length: 5',
  '\r\nTransfer-Encoding: chunked',
  '\r\nTransfer-Encoding: \tchunked',
  '\r\nTransfer-Encoding: xchunked',
  '\r\nTransfer-Encoding: identity',
  '\r\nConnection: close',
  '\r\nConnection: upgrade\r\nUpgrade: websocket',
  '\r\nExpect: 100-continue',
  '\r\nHost: a\r\nHost: b',
  '\r\n\r\nPOST /v1/webhooks HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}',
  'CONNECT a:1 HTTP/1.1\r\n\r\n',
  'GET ',
  'HEAD ',
  'X: '.padEnd(20_000, 'x'),
  'A:\r\n'.repeat(300),
];

/** Mostly near the start: there the head is. */
const at = fc.oneof(fc.nat(200), fc.nat(5_000));

export const spoilings: fc.Arbitrary<Spoiling[]> = fc.array(
  fc.oneof(
    fc.record({ at, insert: fc.constantFrom(...BITS) }),
    fc.record({ at, remove: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.constant(100_000)) }),
    fc.record({ at, copy: fc.integer({ min: 1, max: 300 }), to: at }),
  ),
  { minLength: 1, maxLength: 3 },
);

export function spoiledBytes(bytes: Buffer, spoilings: readonly Spoiling[]): Buffer {
  return spoilings.reduce<Buffer>((current, spoiling) => {
    const place = spoiling.at % (current.length + 1);
    const [head, tail] = [current.subarray(0, place), current.subarray(place)];
    if ('insert' in spoiling) return Buffer.concat([head, Buffer.from(spoiling.insert, 'latin1'), tail]);
    if ('remove' in spoiling) return Buffer.concat([head, tail.subarray(spoiling.remove)]);
    const to = spoiling.to % (current.length + 1);
    return Buffer.concat([current.subarray(0, to), tail.subarray(0, spoiling.copy), current.subarray(to)]);
  }, bytes);
}
