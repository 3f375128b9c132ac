import { z } from 'zod';
import { limitedList } from './limited-list.ts';
import { LIMITS } from './limits.ts';

/** A customer's label for the provider's reports. It is not part of the message. */
export interface EmailTag {
  readonly name: string;
  readonly value: string;
}

/**
 * Resend and SES have this rule: https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_MessageTag.html
 */
const tagPart = z
  .string({ error: 'must be a string' })
  .min(1, { error: 'is empty' })
  .max(LIMITS.tagLength, { error: `is longer than ${LIMITS.tagLength} characters` })
  .regex(/^[A-Za-z0-9_-]*$/, { error: 'has other characters than ASCII letters, digits, _ and -' });

const tag = z.object(
  { name: tagPart, value: tagPart },
  { error: 'must be an object with a name and a value' },
);

export const tagsField = limitedList(LIMITS.tags, tag, 'must be an array of tags');
