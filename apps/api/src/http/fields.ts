import { fieldPath, valueAt } from '@postrider/domain';
import type { z } from 'zod';
import { invalid } from '../problems/answers.ts';
import { quoted } from '../problems/quoted.ts';
import { plainText } from './answer.ts';
import type { Answer } from './answer.ts';

export type FieldsParse<Fields> =
  { readonly ok: true; readonly fields: Fields } | { readonly ok: false; readonly refusal: Answer };

/** How a kind of route refuses invalid fields. */
export interface FieldRule {
  lacking(field: string): Answer;
  /** @param detail names the field and the value. */
  breaking(detail: string): Answer;
}

const lackingInPlainText = (field: string): Answer =>
  plainText(422, `The request body lacks the required field ${field}.`);

/** Webhook and domain routes (contract 7.1 and 7.2). */
export const resourceFields: FieldRule = {
  lacking: lackingInPlainText,
  breaking: (detail) => invalid(detail),
};

/**
 * Suppression routes refuse a missing field as above. They answer every other fault with 400 (contract 7.2).
 */
export const suppressionFields: FieldRule = {
  lacking: lackingInPlainText,
  breaking: (detail) => invalid(detail, 400),
};

/** Topic routes are no exception of contract 7.1. */
export const topicFields: FieldRule = {
  lacking: (field) => invalid(`${field} is required.`, 400),
  breaking: (detail) => invalid(detail, 400),
};

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
  const lacking = required.find((field) => !isObject(body) || !Object.hasOwn(body, field));
  if (lacking !== undefined) return { ok: false, refusal: rule.lacking(lacking) };
  const parsed = schema.safeParse(body);
  if (parsed.success) return { ok: true, fields: parsed.data };
  const [issue] = parsed.error.issues;
  if (issue === undefined) throw parsed.error;
  const { path, message } = issue;
  const name = path.length === 0 ? 'The body' : fieldPath(path, body);
  return { ok: false, refusal: rule.breaking(`${name} ${quoted(valueAt(body, path))} ${message}.`) };
}

function isObject(body: unknown): body is object {
  return typeof body === 'object' && body !== null;
}
