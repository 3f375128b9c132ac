import { runs } from '@postrider/testing';
import fc from 'fast-check';
import { changed, countOf, render, written } from './json-text.ts';
import type { Change, Written } from './json-text.ts';

/** A body made from a valid one. */
export interface BodySpec {
  /** Of the route's valid bodies, which one. */
  readonly from: object;
  readonly changes: readonly Change[];
  readonly encoding: Encoding;
}

/** What is done to the text of a document, or to its bytes. */
const ENCODINGS = {
  none: (text: string) => Buffer.from(text),
  spaces: (text: string) => Buffer.from(`\r\n\t ${text}\n\r \n`),
  'byte order mark': (text: string) => Buffer.from(`\ufeff${text}`),
  'UTF-16': (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le'),
  /** Inside the last string, where only the decoding can notice it. */
  'invalid UTF-8': (text: string) => {
    const at = text.lastIndexOf('"');
    return Buffer.concat([Buffer.from(text.slice(0, at)), INVALID, Buffer.from(text.slice(at))]);
  },
  'overlong UTF-8': (text: string) => Buffer.concat([OVERLONG, Buffer.from(text)]),
  'half of it': (text: string) => Buffer.from(text.slice(0, text.length / 2)),
  twice: (text: string) => Buffer.from(text + text),
  'in an array': (text: string) => Buffer.from(`[${text}]`),
  'a comma more': (text: string) => Buffer.from(`${text},`),
  'a comment': (text: string) => Buffer.from(`/* ${text} */`),
  'single quotes': (text: string) => Buffer.from(text.replaceAll('"', "'")),
  'NUL behind': (text: string) => Buffer.from(`${text}\0`),
  form: () => Buffer.from('endpoint=https%3A%2F%2Fa.example&from=a'),
  nothing: () => Buffer.alloc(0),
  '64 KiB': (text: string) => padded(text, 65_536),
  '64 KiB and a byte': (text: string) => padded(text, 65_537),
} as const;

type Encoding = keyof typeof ENCODINGS;

/** Under these a document says the same as without. */
const HARMLESS: readonly Encoding[] = ['none', 'spaces', 'byte order mark', '64 KiB'];

const INVALID = Buffer.from([0xc3, 0x28, 0xff]);
const OVERLONG = Buffer.from([0xc0, 0x80]);

/** With white space, up to `bytes`. */
function padded(text: string, bytes: number): Buffer {
  return Buffer.from(text + ' '.repeat(Math.max(0, bytes - Buffer.byteLength(text))));
}

export function bodyBytes({ from, changes, encoding }: BodySpec): Buffer {
  return ENCODINGS[encoding](render(changed(written(from), changes)));
}

export function isUntouched({ changes, encoding }: BodySpec): boolean {
  return changes.length === 0 && HARMLESS.includes(encoding);
}

const STRINGS = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  '\udc00\ud800',
  '\ufeff',
  '\u202e\u2066',
  '\u2028',
  'e\u0301',
  '\u00e9',
  '\ufb01\u0130\u00df\u212a',
  '\r\nX-Injected: 1\r\n\r\n',
  "'; drop table webhooks; --",
  '$1',
  '%00%n%s',
  '../../etc/passwd',
  '__proto__',
  'constructor',
  'null',
  'x'.repeat(2_000),
  '\u{1f389}'.repeat(600),
  'email.sent\0',
  'https://a.example/\0',
  'https://a.example/\ud800',
  'https://a.example/\u{1f389}?\u00e9#\u00e9',
  'https://u:p@a.example/',
  'https://a.example:0/',
  'https://[::ffff:7f00:1]/',
  'https://xn--a.example/',
  'https://a.example\\@b.example',
  'https:a.example',
  'HTTPS://A.EXAMPLE:443/../x',
  `https://a.example/${'\u00e4'.repeat(400)}`,
  'http://a.example',
  'javascript:alert(1)',
  'a@b.example\r\nBcc: c@d.example',
  '"\\" <a@b.example>',
  '=?utf-8?q?=00?= <a@b.example>',
  'a@b.example, c@d.example',
  '\u{1f389} <a@b.example>',
  `${'a'.repeat(64)}@b.example`,
];

const RAW = [
  '1e999',
  '-1e999',
  '-0',
  '1e-400',
  '123456789012345678901234567890',
  '01',
  '.5',
  'NaN',
  'undefined',
  '"\\ud800"',
  '"\\u0000"',
  '"\\x41"',
  '"a\nb"',
  "'a'",
  '',
  '{"__proto__":{"endpoint":"https://a.example"}}',
  '{"toString":1,"valueOf":null,"length":-1,"then":1,"toJSON":1}',
  '{"a":1,"a":2,"a":{"a":3}}',
];

const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'then',
  'toJSON',
  'length',
  '',
  '\0',
  '0',
];

const text = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...STRINGS) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme' }) },
  // Code units without regard to pairs.
  { weight: 1, arbitrary: fc.array(fc.nat(0xffff), { maxLength: 8 }).map((u) => String.fromCharCode(...u)) },
);

const depth = fc.constantFrom(3, 100, 5_000, 30_000);
const scalar: fc.Arbitrary<Written> = fc.oneof(
  text,
  fc.constantFrom(null, true, false, 0, -1, Number.MAX_SAFE_INTEGER, Number.MIN_VALUE),
  fc.constantFrom(...RAW).map((raw) => ({ raw })),
);
const value: fc.Arbitrary<Written> = fc.oneof(
  { weight: 5, arbitrary: scalar },
  { weight: 2, arbitrary: fc.array(scalar, { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.jsonValue().map(written) },
  {
    weight: 1,
    arbitrary: fc.record({ nested: depth, open: fc.constantFrom('[' as const, '{"a":' as const) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      times: fc.constantFrom(0, 51, 5_000),
      of: fc.constantFrom('x', 'email.sent', 'a@b.example', 1, null),
    }),
  },
);
const name = fc.oneof(fc.constantFrom(...NAMES), text);

/** @param names of the route's own fields, which a member is best renamed to or doubled as. */
function change(names: readonly string[]): fc.Arbitrary<Change> {
  const known = names.length === 0 ? name : fc.oneof(fc.constantFrom(...names), name);
  return fc.record({
    at: fc.nat(60),
    how: fc.oneof(
      fc.record({ kind: fc.constantFrom('replace' as const, 'double' as const), value }),
      fc.record({ kind: fc.constantFrom('remove' as const, 'wrap' as const) }),
      fc.record({ kind: fc.constant('rename' as const), name: known }),
      fc.record({ kind: fc.constant('add' as const), name: known, value }),
    ),
  });
}

/** What each value of a body is replaced by in turn: chance alone would seldom bring the two together. */
const EVERYWHERE: readonly Written[] = [
  '\0',
  '\ud800',
  '\u007f\u0085\u2028\u202e',
  null,
  { nested: 30_000, open: '[' },
];

/** One in so many of the pairs of a place and a hostile value is tried. */
const PAIRS_PER_SWEEP = runs({ usual: 2, long: 1 });

/**
 * Every encoding over a valid body, and the values of it replaced by what is hostile everywhere.
 *
 * @param route the number of the route: another one is swept with the other pairs
 */
export function bodySweep(from: object, route: number): BodySpec[] {
  const places = Array.from({ length: countOf(written(from)) }, (_, at) => at);
  const swept = places.flatMap((at) =>
    EVERYWHERE.filter((_, n) => (at + n + route) % PAIRS_PER_SWEEP === 0).map((each): Change[] => [
      { at, how: { kind: 'replace', value: each } },
    ]),
  );
  return [
    ...(Object.keys(ENCODINGS) as Encoding[]).map((encoding) => ({ from, changes: [], encoding })),
    ...swept.map((changes) => ({ from, changes, encoding: 'none' as const })),
  ];
}

/** Valid bodies, mostly with a few changes, sometimes with their text spoiled, too. */
export function bodies(valid: readonly object[]): fc.Arbitrary<BodySpec> {
  const names = [...new Set(valid.flatMap((body) => Object.keys(body)))];
  return fc.record({
    from: fc.constantFrom(...valid),
    changes: fc.oneof(
      { weight: 1, arbitrary: fc.constant([]) },
      { weight: 5, arbitrary: fc.array(change(names), { minLength: 1, maxLength: 3 }) },
    ),
    encoding: fc.oneof(
      { weight: 4, arbitrary: fc.constant('none' as const) },
      { weight: 1, arbitrary: fc.constantFrom(...(Object.keys(ENCODINGS) as Encoding[])) },
    ),
  });
}
