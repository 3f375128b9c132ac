import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { samples } from '../test/corpus.ts';
import { ADDRESSES_MAX, HEADERS_MAX, LINE_CHARACTERS_MAX, PARTS_MAX, REFERENCES_MAX } from './limits.ts';
import { parseMessage } from './parse-message.ts';
import type { ParsedMessage } from './parsed-message.ts';

/** Each takes some 2 ms. */
const MESSAGES = 1_500;
const BYTES_MAX = 512 * 1024;

type Mutation = (bytes: Buffer) => Buffer;

/** A position within bytes of any length. */
const fraction = fc.double({ min: 0, max: 1, noNaN: true });
const at = (bytes: Buffer, where: number): number => Math.floor(bytes.length * where);

const cut = fraction.map(
  (end): Mutation =>
    (bytes) =>
      bytes.subarray(0, at(bytes, end)),
);

const flip = fc.tuple(fraction, fc.nat(255)).map(([where, value]): Mutation => (bytes) => {
  const flipped = Buffer.from(bytes);
  if (flipped.length > 0) flipped[Math.min(at(bytes, where), flipped.length - 1)] = value;
  return flipped;
});

const splice = fc
  .tuple(fc.constantFrom(...samples), fraction, fraction, fraction)
  .map(([{ raw }, from, to, where]): Mutation => (bytes) => {
    const position = at(bytes, where);
    return Buffer.concat([
      bytes.subarray(0, position),
      raw.subarray(at(raw, Math.min(from, to)), at(raw, Math.max(from, to))),
      bytes.subarray(position),
    ]);
  });

const repeat = fc
  .tuple(fraction, fraction, fc.integer({ min: 2, max: 2_000 }))
  .map(([from, to, times]): Mutation => (bytes) => {
    const start = at(bytes, Math.min(from, to));
    const piece = bytes.subarray(start, at(bytes, Math.max(from, to)));
    const repeated = Array.from({ length: times }, () => piece);
    return Buffer.concat([bytes.subarray(0, start), ...repeated, bytes.subarray(start)]).subarray(
      0,
      BYTES_MAX,
    );
  });

const token = fc
  .tuple(
    fraction,
    fc.constantFrom('\0', '\r\n', '\n\n', '--b1', '=?utf-8?q?=00=0D?=', '<', '"', '(', ':', ';', '=ED=A0=80'),
  )
  .map(([where, text]): Mutation => (bytes) => {
    const position = at(bytes, where);
    return Buffer.concat([bytes.subarray(0, position), Buffer.from(text), bytes.subarray(position)]);
  });

const mutated = fc
  .tuple(
    fc.constantFrom(...samples),
    fc.array(fc.oneof(cut, flip, splice, repeat, token), { minLength: 1, maxLength: 6 }),
  )
  .map(([{ raw }, mutations]) => mutations.reduce((bytes, mutate) => mutate(bytes), raw));

/** Every text of a message that stands in one line. */
function linesOf(message: ParsedMessage): string[] {
  const { messageId, inReplyTo, references, from, fromAddresses, to, cc, replyTo, subject } = message;
  const names = message.attachments.flatMap(({ filename, contentType, contentId }) => [
    filename,
    contentType,
    contentId,
  ]);
  const headers = message.headers.flatMap(({ name, value }) => [name, value]);
  return [
    messageId,
    inReplyTo,
    ...references,
    from,
    ...fromAddresses,
    ...to,
    ...cc,
    ...replyTo,
    subject,
    ...names,
    ...headers,
  ].filter((text) => text !== null);
}

function check(message: ParsedMessage, raw: Buffer): void {
  const lines = linesOf(message);
  expect(lines.filter((line) => /[\p{Cc}\p{Surrogate}\u2028\u2029]/u.test(line))).toEqual([]);
  for (const text of [message.text, message.html]) expect(text ?? '').not.toMatch(/[\0\p{Surrogate}]/u);
  expect(message.headers.length).toBeLessThanOrEqual(HEADERS_MAX);
  expect(message.references.length).toBeLessThanOrEqual(REFERENCES_MAX);
  expect(message.to.length).toBeLessThanOrEqual(ADDRESSES_MAX);
  expect(message.attachments.length).toBeLessThanOrEqual(PARTS_MAX);
  expect(message.attachments.reduce((sum, { content }) => sum + content.length, 0)).toBeLessThanOrEqual(
    raw.length,
  );
  for (const { filename } of message.attachments) {
    expect(filename ?? '').not.toMatch(/[/\\]|^\.\.?$/);
    expect((filename ?? '').length).toBeLessThanOrEqual(LINE_CHARACTERS_MAX);
  }
  const characters = (message.text ?? '').length + (message.html ?? '').length;
  expect(characters).toBeLessThanOrEqual(3 * raw.length + 1_000);
}

test('whatever is done to a message, it is read, within bounds and without what Postgres refuses', async () => {
  // fast-check prints the seed of a run that fails.
  await fc.assert(
    fc.asyncProperty(mutated, async (raw) => {
      check(await parseMessage(raw), raw);
    }),
    { numRuns: MESSAGES },
  );
});
