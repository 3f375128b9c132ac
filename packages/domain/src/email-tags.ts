import { z } from 'zod';
import { LIMITS } from './limits.ts';

/** A customer's label of a message: for the provider's reports, no part of the mail. */
export interface EmailTag {
  readonly name: string;
  readonly value: string;
}

/** The rule of Resend, and of SES's message tags: https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_MessageTag.html */
const tagPart = z
  .string({ error: 'must be a string' })
  .min(1, { error: 'is empty' })
  .max(LIMITS.tagLength, { error: `is longer than ${LIMITS.tagLength} characters` })
  .regex(/^[A-Za-z0-9_-]*$/, { error: 'has other characters than ASCII letters, digits, _ and -' });

/** Of a list that is too long, what is behind the limit is not looked into; its length is a fault of its own. */
export const tagsField = z.preprocess(
  (value) => (Array.isArray(value) ? (value.slice(0, LIMITS.tags) as unknown[]) : (value ?? [])),
  z.array(
    z.object({ name: tagPart, value: tagPart }, { error: 'must be an object with a name and a value' }),
    { error: 'must be an array of tags' },
  ),
);
