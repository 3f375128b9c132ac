import { plainAddress } from '@postrider/domain';
import { z } from 'zod';

/** An address in a body, in the form in which it is remembered. */
export const writtenAddress = z.string({ error: 'is not a string' }).transform((text, context) => {
  const address = plainAddress(text);
  if (address !== null) return address;
  context.addIssue('is not an email address');
  return z.NEVER;
});
