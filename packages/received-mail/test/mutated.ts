import fc from 'fast-check';
import { samples } from './corpus.ts';

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

/** A message of the corpus with up to six mutations. */
export const mutated = fc
  .tuple(
    fc.constantFrom(...samples),
    fc.array(fc.oneof(cut, flip, splice, repeat, token), { minLength: 1, maxLength: 6 }),
  )
  .map(([{ raw }, mutations]) => mutations.reduce((bytes, mutate) => mutate(bytes), raw));
