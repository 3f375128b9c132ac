import { fieldPath, valueAt } from '@postrider/domain';
import { closestMatch } from 'leven';
import { z } from 'zod';
import { invalid } from '../problems/answers.ts';
import { quoted } from '../problems/quoted.ts';
import { plainText } from './answer.ts';
import type { Answer } from './answer.ts';

export type FieldsParse<Fields> =
  | { readonly ok: true; readonly fields: Fields }
  | { readonly ok: false; readonly refusal: Answer };

/** How a kind of route refuses invalid fields. */
export interface FieldRule {
  missing(field: string): Answer;
  /** @param detail names the field and the value. */
  invalid(detail: string): Answer;
}

const missingInPlainText = (field: string): Answer =>
  plainText(422, `The request body lacks the required field ${field}.`);

/** For replies and forwards. A refusal cannot name a missing field: a reply has no required field. */
export const notAnObject = plainText(422, 'The request body is not an object.');

/** Webhook and domain routes answer every fault with 422 (contract 7.1 and 7.2). */
export const resourceFieldRule: FieldRule = {
  missing: missingInPlainText,
  invalid: (detail) => invalid(detail),
};

/**
 * Suppression routes refuse a missing field as webhook routes do. They answer every other fault with 400
 * (contract 7.2).
 */
export const suppressionFieldRule: FieldRule = {
  missing: missingInPlainText,
  invalid: (detail) => invalid(detail, 400),
};

/** Topic routes answer every fault with a problem document of status 400 (contract 7.1). */
export const topicFieldRule: FieldRule = {
  missing: (field) => invalid(`${field} is required.`, 400),
  invalid: (detail) => invalid(detail, 400),
};

/** No known name is longer. The time to compare two names grows with the product of their lengths. */
const NAME_LENGTH_MAX = 100;

/**
 * The schema of an object that has no other fields than those of `shape`. Use it where a misspelt field would
 * widen what a request does. The refusal of an unknown field names the nearest known one.
 *
 * @param noun what the refusal calls a field of the object.
 */
export function strictFields<Shape extends z.ZodRawShape>(
  shape: Shape,
  noun: 'field' | 'parameter' = 'field',
) {
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? unknownField(issue.keys[0] ?? '', Object.keys(shape), noun)
        : 'is not an object',
  });
}

function unknownField(written: string, known: readonly string[], noun: string): string {
  const unknown = `${quoted(written)} is not a ${noun} of this route`;
  const nearest = closestMatch(written.slice(0, NAME_LENGTH_MAX), known);
  return nearest === undefined ? unknown : `${unknown}; the nearest one is ${nearest}`;
}

/** The body of an HTTP route that has no fields. Any field is refused: its sender expects an effect. */
export const noFields = strictFields({}).meta({ id: 'NoFields' });

/**
 * Validates the fields of a parsed body. A refusal names only the first fault, because a body may have
 * thousands.
 *
 * @param required fields that must exist. A body that is no object lacks the first one.
 */
export function parseFields<Fields>(
  body: unknown,
  schema: z.ZodType<Fields>,
  required: readonly string[],
  rule: FieldRule,
): FieldsParse<Fields> {
  const missing = required.find((field) => !isObject(body) || !Object.hasOwn(body, field));
  if (missing !== undefined) return { ok: false, refusal: rule.missing(missing) };
  const parsed = schema.safeParse(body);
  if (parsed.success) return { ok: true, fields: parsed.data };
  const [issue] = parsed.error.issues;
  if (issue === undefined) throw parsed.error;
  const { code, path, message } = issue;
  if (code === 'unrecognized_keys') return { ok: false, refusal: rule.invalid(`${message}.`) };
  const name = path.length === 0 ? 'The body' : fieldPath(path, body);
  return { ok: false, refusal: rule.invalid(`${name} ${quoted(valueAt(body, path))} ${message}.`) };
}

/** A body that is no object has no field. */
export function hasAny(body: unknown, fields: readonly string[]): boolean {
  return isObject(body) && fields.some((field) => Object.hasOwn(body, field));
}

function isObject(body: unknown): body is object {
  return typeof body === 'object' && body !== null;
}
