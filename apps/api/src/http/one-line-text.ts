import { hasControlCharacter, isLongerThan, PATTERNS } from '@postrider/domain';
import { z } from 'zod';

/** A field for one line of text that Postgres can store. @param lengthMax in characters. */
export function oneLineText(lengthMax: number) {
  return z
    .string({ error: 'is not a string' })
    .refine((text) => !isLongerThan(text, lengthMax), { error: `is longer than ${lengthMax} characters` })
    .refine((text) => !hasControlCharacter(text), { error: 'contains a control character' })
    .refine((text) => text.isWellFormed(), { error: 'contains half of a surrogate pair' })
    .meta({ maxLength: lengthMax, pattern: PATTERNS.line });
}
