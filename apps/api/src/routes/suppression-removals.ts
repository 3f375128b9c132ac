import { LIMITS, oneLineText, valueAt } from '@postrider/domain';
import type { SuppressionKey, SuppressionStore } from '@postrider/store';
import { z } from 'zod';
import { json } from '../http/answer.ts';
import { optionalBody, resourceBody } from '../http/body-rules.ts';
import { hasAny, parseFields, strictFields, suppressionFieldRule } from '../http/fields.ts';
import type { FieldsParse } from '../http/fields.ts';
import { idField } from '../http/parsed-text.ts';
import { repetitionIn } from '../http/query-fields.ts';
import { actorOf } from '../http/request-context.ts';
import { invalid, noSuch } from '../problems/answers.ts';
import { quoted } from '../problems/quoted.ts';
import type { Documented, KeyedRoute } from './route.ts';
import { deleted } from './schemas.ts';
import type { AnswerOf } from './schemas.ts';
import { batchOf, requestedAddress, suppressionKey } from './suppressions.ts';

const MANAGE = { scope: 'suppressions:manage', limited: false } as const;

export function suppressionRemovalRoutes(suppressions: SuppressionStore): readonly Documented[] {
  return [removeSuppressions(suppressions), removeSuppression(suppressions)];
}

/** A blank reason counts as none. */
const reason = oneLineText(LIMITS.suppressionReasonLength)
  .nullish()
  .meta({ description: 'Needed to remove what a complaint has made.' })
  .transform((written) => {
    const trimmed = (written ?? '').trim();
    return trimmed === '' ? null : trimmed;
  });
const removalRequest = z.object({ reason }).meta({ id: 'SuppressionRemoval' });
const reasonQuery = z.object({
  reason: oneLineText(LIMITS.suppressionReasonLength)
    .optional()
    .meta({ description: 'Where it is blank or missing, the `reason` of the body counts.' }),
});

const deletedSuppression = deleted('suppression', 'suppression');
const oneDeleted = deletedSuppression.meta({ id: 'DeletedSuppression' });

function removeSuppression(suppressions: SuppressionStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'delete',
    path: '/v1/suppressions/:id',
    body: optionalBody,
    docs: {
      operationId: 'removeSuppression',
      summary: 'Remove a suppression, by its id or its address',
      description: 'One that a complaint has made needs a reason, as `?reason=` or in the body.',
      query: reasonQuery,
      request: removalRequest,
      success: { status: 200, body: oneDeleted },
      refusals: ['not-found', '400 text', '400 validation-failed'],
    },
    async handle({ key, id: idOrAddress, query, body }) {
      const why = removalReason(query, body);
      if (!why.ok) return why.refusal;
      const target = suppressionKey(idOrAddress);
      if (target === null) return noSuch('suppression');
      const removal = await suppressions.remove(key.accountId, [target], why.fields.reason, actorOf(key));
      if (removal.kind === 'reason-missing') return reasonMissing;
      const [id] = removal.ids;
      return id === undefined ? noSuch('suppression') : { ...json(200, removed(id)), written: 1 };
    },
  };
}

const emails = batchOf(requestedAddress, 'is not an array', 'entries');
const ids = batchOf(idField('suppression', 'a suppression'), 'is not an array', 'entries');
const batchRemovalRequest = z
  .union([strictFields({ emails, reason }), strictFields({ ids, reason })])
  .meta({ id: 'SuppressionBatchRemoval' });
/** Not checked here: `removalReason` reads this reason only when the query has none. */
const anyReason = z.unknown().optional();
const byAddress = strictFields({ emails, reason: anyReason });
const byId = strictFields({ ids, reason: anyReason });
const manyDeleted = z.object({ data: z.array(deletedSuppression) }).meta({ id: 'DeletedSuppressions' });

/**
 * The answer has an entry for each suppression that existed. If a complaint caused one of them, a reason is
 * needed: without a reason, the request removes no suppression.
 */
function removeSuppressions(suppressions: SuppressionStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'post',
    path: '/v1/suppressions/batch/remove',
    body: resourceBody,
    docs: {
      operationId: 'removeSuppressions',
      summary: 'Remove many suppressions: all of them or none',
      description: 'Those that a complaint has made need a reason, as `?reason=` or in the body.',
      query: reasonQuery,
      request: batchRemovalRequest,
      success: { status: 200, body: manyDeleted },
      refusals: ['400 text', '422 text', '400 validation-failed'],
    },
    async handle({ key, query, body }) {
      const parsed = removalKeys(body);
      if (!parsed.ok) return parsed.refusal;
      const why = removalReason(query, body);
      if (!why.ok) return why.refusal;
      const removal = await suppressions.remove(
        key.accountId,
        parsed.fields,
        why.fields.reason,
        actorOf(key),
      );
      if (removal.kind === 'reason-missing') return reasonMissing;
      const data = removal.ids.map(removed);
      return { ...json<AnswerOf<typeof manyDeleted>>(200, { data }), written: data.length };
    },
  };
}

function removalKeys(body: unknown): FieldsParse<SuppressionKey[]> {
  const hasIds = hasAny(body, ['ids']);
  if (!hasIds) {
    const schema = byAddress.transform((fields) =>
      fields.emails.map((address): SuppressionKey => ({ address })),
    );
    return parseFields(body, schema, ['emails'], suppressionFieldRule);
  }
  if (hasAny(body, ['emails'])) {
    const asked = quoted(valueAt(body, ['emails']));
    return { ok: false, refusal: invalid(`emails ${asked} cannot be used together with ids.`, 400) };
  }
  const schema = byId.transform((fields) => fields.ids.map((id): SuppressionKey => ({ id })));
  return parseFields(body, schema, ['ids'], suppressionFieldRule);
}

type ReasonParse = FieldsParse<{ readonly reason: string | null }>;

/**
 * Reads the reason from `?reason=`. When that is blank or missing, `reason` of the JSON body counts. Null:
 * both are blank or missing.
 */
function removalReason(query: URLSearchParams, body: unknown): ReasonParse {
  const repetition = repetitionIn(query, ['reason']);
  if (repetition !== null) return { ok: false, refusal: suppressionFieldRule.invalid(repetition) };
  const inQuery = reasonOf({ reason: query.get('reason') ?? undefined });
  if (!inQuery.ok || inQuery.fields.reason !== null) return inQuery;
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  return reasonOf(isObject ? body : {});
}

function reasonOf(written: object): ReasonParse {
  return parseFields(written, removalRequest, [], suppressionFieldRule);
}

/** The suppression came of a complaint (contract 7.2). */
const reasonMissing = invalid(
  'A suppression that came of a complaint is removed with a reason alone: give one as reason.',
  400,
);

function removed(id: string): AnswerOf<typeof deletedSuppression> {
  return { object: 'suppression', id, deleted: true };
}
