import { z } from 'zod';
import { hasControlCharacter, isLongerThan } from './email-address.ts';
import { PATTERNS } from './text-patterns.ts';

/**
 * A field for one line of text that Postgres can store.
 *
 * @param lengthMax in characters. @param notText the fault of a value that is no string.
 */
export function oneLineText(lengthMax: number, notText = 'is not a string') {
  return z
    .string({ error: notText })
    .refine((text) => !isLongerThan(text, lengthMax), { error: `is longer than ${lengthMax} characters` })
    .refine((text) => !hasControlCharacter(text), { error: 'contains a control character' })
    .refine((text) => text.isWellFormed(), { error: 'contains half of a surrogate pair' })
    .meta({ maxLength: lengthMax, pattern: PATTERNS.line });
}

/** Makes a zod transform from `parse`. @param fault the fault of a text for which `parse` returns null. */
export function parsedBy<Value>(parse: (text: string) => Value | null, fault: string) {
  return (text: string, context: z.RefinementCtx): Value => {
    const value = parse(text);
    if (value !== null) return value;
    context.addIssue(fault);
    return z.NEVER;
  };
}
