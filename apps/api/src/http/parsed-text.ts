import { parseId } from '@postrider/domain';
import type { Id, Noun } from '@postrider/domain';
import { z } from 'zod';

/** A field that holds an id. @param inWords the noun with its article: `a webhook`. */
export function idField<N extends Noun>(noun: N, inWords: string) {
  return z.string({ error: 'is not a string' }).transform((text, context): Id<N> => {
    const id = parseId(noun, text);
    if (id !== null) return id;
    context.addIssue(`is not the id of ${inWords}`);
    return z.NEVER;
  });
}
