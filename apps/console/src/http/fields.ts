import { parsedBy, parseId, plainAddress } from '@postrider/domain';
import type { Noun } from '@postrider/domain';
import { z } from 'zod';
import { TIME_EXAMPLES } from '../html/words.ts';
import { badRequest } from './refusal.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads the filters of a list or the fields of a form. A field with nothing but white space counts as absent:
 * a form also sends the fields that the user left empty.
 *
 * @throws Refusal (400) that names each unknown or malformed field.
 */
export function readFields<Shape extends z.ZodRawShape>(
  shape: Shape,
  given: Fields,
): z.infer<z.ZodObject<Shape, z.core.$strict>> {
  const isBlank = (value: unknown) => typeof value === 'string' && value.trim() === '';
  const filled = Object.fromEntries(Object.entries(given).filter(([, value]) => !isBlank(value)));
  const result = z.strictObject(shape).safeParse(filled);
  if (result.success) return result.data;
  const known = Object.keys(shape).join(', ');
  const faults = result.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((name) => ({
          name,
          words: `${name} is unknown here. Known: ${known === '' ? 'none' : known}.`,
        }))
      : issue.path.map((name) => ({
          name: String(name),
          words: `${labelOf(String(name))} ${issue.message}.`,
        })),
  );
  throw badRequest(
    faults.map(({ words }) => words),
    faults.map(({ name }) => name),
  );
}

/** The name of a field with a capital, as most forms write it: `Since` for `since`. */
function labelOf(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

/** A time as `writtenTime` writes it, also with a T or a Z. */
const TIME_PATTERN = /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2})(:\d{2}(?:\.\d{1,3})?)?Z?)?$/;

/** The text of a field. A field that is given twice arrives as a list. */
export const single = z.string({ error: 'is given twice' });

/** A time in UTC: `2026-11-26`, `2026-11-26 05:41`, `2026-11-26T05:41:00.000Z`. */
export const utcTime = single.transform(
  parsedBy(parseUtcTime, `is not a time such as ${TIME_EXAMPLES}, in UTC`),
);

function parseUtcTime(text: string): Date | null {
  const [, date, hoursAndMinutes = '00:00', seconds = ':00'] = TIME_PATTERN.exec(text) ?? [];
  const at = new Date(`${date ?? ''}T${hoursAndMinutes}${seconds}Z`);
  // `Date` reads 31 February as 3 March. Postgres has no year 0.
  const isDay = !Number.isNaN(at.getTime()) && at.toISOString().startsWith(date ?? '');
  return isDay && at.getUTCFullYear() > 0 ? at : null;
}

/** A text from the user, without white space around it. Postgres refuses NUL. */
export const freeText = single
  .trim()
  .refine((text) => !text.includes('\0'), { error: 'has a NUL character', abort: true });

/** An id. @param words for the error message, such as `a webhook` */
export function idField<N extends Noun>(noun: N, words: string) {
  return freeText.transform(parsedBy((text) => parseId(noun, text), `is not the id of ${words}`));
}

/**
 * The position of a list entry, as `positionText` writes it. Its time has at most 14 digits: with more, the
 * year may be above 9999, and `toISOString` then writes a form that Postgres does not read.
 */
export function positionField(noun: Noun, words: string) {
  const positionOf = (text: string) => {
    const [, ms, written = ''] = /^(\d{1,14})-(\w+)$/.exec(text) ?? [];
    const id = parseId(noun, written);
    return id === null ? null : { createdAt: new Date(Number(ms)), id };
  };
  return freeText.transform(parsedBy(positionOf, `is not the position of ${words}`));
}

/** The position of an event in its list: a whole number. */
export const eventPosition = freeText
  .regex(/^\d{1,18}$/, { error: 'is not the position of an event' })
  .transform(BigInt);

/** An address as `plainAddress` writes it. */
export const emailAddress = freeText.transform(parsedBy(plainAddress, 'is not an email address'));

const NOTE_LENGTH_MAX = 200;
/** One line. A terminal would obey control characters. */
export const note = freeText
  .max(NOTE_LENGTH_MAX, { error: `has at most ${NOTE_LENGTH_MAX} characters` })
  .refine((text) => !/\p{Cc}/u.test(text), { error: 'has control characters' });
