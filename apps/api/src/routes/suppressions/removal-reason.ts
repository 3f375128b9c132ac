import { LIMITS } from '@postrider/domain';
import { z } from 'zod';
import { parseFields, suppressionFields } from '../../http/fields.ts';
import type { FieldsParse } from '../../http/fields.ts';
import { shownText } from '../../http/shown-text.ts';
import { invalid } from '../../problems/answers.ts';

/** One that is blank says nothing, and is none. */
const reason = shownText(LIMITS.suppressionReasonLength)
  .nullish()
  .transform((text) => {
    const said = (text ?? '').trim();
    return said === '' ? null : said;
  });

const request = z.object({ reason });

/** Why a suppression is removed: `?reason=`, or else the `reason` of a JSON body, which may be missing altogether. */
export function removalReason(
  query: URLSearchParams,
  body: unknown,
): FieldsParse<{ readonly reason: string | null }> {
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  const written = query.has('reason') ? { reason: query.get('reason') } : isObject ? body : {};
  return parseFields(written, request, [], suppressionFields);
}

/** Contract 7.2. */
export const reasonMissing = invalid(
  'A suppression that came of a complaint is removed with a reason alone: give one as reason.',
  400,
);
