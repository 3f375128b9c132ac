import { LIMITS } from '@postrider/domain';
import { z } from 'zod';
import { parseFields, suppressionFields } from '../../http/fields.ts';
import type { FieldsParse } from '../../http/fields.ts';
import { shownText } from '../../http/shown-text.ts';
import { invalid } from '../../problems/answers.ts';
import { quoted } from '../../problems/quoted.ts';

/** One that is blank says nothing, and is none. */
const reason = shownText(LIMITS.suppressionReasonLength)
  .nullish()
  .transform((text) => {
    const said = (text ?? '').trim();
    return said === '' ? null : said;
  });

const request = z.object({ reason });

type ReasonParse = FieldsParse<{ readonly reason: string | null }>;

/**
 * Why a suppression is removed: `?reason=`, or else, also where that one is blank, the `reason` of a JSON body, which
 * may be missing altogether.
 */
export function removalReason(query: URLSearchParams, body: unknown): ReasonParse {
  const [inQuery, ...more] = query.getAll('reason');
  if (more.length > 0) {
    const detail = `reason ${quoted([inQuery, ...more])} is given more than once.`;
    return { ok: false, refusal: suppressionFields.breaking(detail) };
  }
  const asked = reasonOf({ reason: inQuery });
  if (!asked.ok || asked.fields.reason !== null) return asked;
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  return reasonOf(isObject ? body : {});
}

function reasonOf(written: object): ReasonParse {
  return parseFields(written, request, [], suppressionFields);
}

/** Contract 7.2. */
export const reasonMissing = invalid(
  'A suppression that came of a complaint is removed with a reason alone: give one as reason.',
  400,
);
