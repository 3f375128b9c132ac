import { LIMITS, parseId } from '@postrider/domain';
import type { SuppressionKey, SuppressionStore } from '@postrider/store';
import { z } from 'zod';
import { json } from '../../http/answer.ts';
import { parseFields, suppressionFields } from '../../http/fields.ts';
import { invalid, noSuch } from '../../problems/answers.ts';
import type { Handle } from '../route.ts';
import { reasonMissing, removalReason } from './removal-reason.ts';
import { suppressionKey } from './suppression-key.ts';
import { writtenAddress } from './written-address.ts';

const writtenId = z.string({ error: 'is not a string' }).transform((text, context) => {
  const id = parseId('suppression', text);
  if (id !== null) return id;
  context.addIssue('is not the id of a suppression');
  return z.NEVER;
});

const many = z
  .array(z.unknown(), { error: 'is not an array' })
  .refine((list) => list.length > 0 && list.length <= LIMITS.suppressionsBatch, {
    error: `does not have 1 to ${LIMITS.suppressionsBatch} entries`,
  });
const byAddress = z.object({ emails: many.pipe(z.array(writtenAddress)) });
const byId = z.object({ ids: many.pipe(z.array(writtenId)) });

/** `DELETE /v1/suppressions/{id or address}`. */
export function removeSuppression(suppressions: Pick<SuppressionStore, 'remove'>): Handle {
  return async ({ key, id: written, query, body }) => {
    const why = removalReason(query, body);
    if (!why.ok) return why.refusal;
    const asked = suppressionKey(written);
    if (asked === null) return noSuch('suppression');
    const removal = await suppressions.remove(key.accountId, [asked], why.fields.reason);
    if (removal.kind === 'reason-missing') return reasonMissing;
    const [id] = removal.ids;
    return id === undefined ? noSuch('suppression') : json(200, deleted(id));
  };
}

/**
 * `POST /v1/suppressions/batch/remove`: those of `emails`, or of `ids`; an entry for each that was there. Where one of
 * them came of a complaint and there is no reason, all of them stay.
 */
export function removeSuppressions(suppressions: Pick<SuppressionStore, 'remove'>): Handle {
  return async ({ key, query, body }) => {
    const parsed = removalKeys(body);
    if (!parsed.ok) return parsed.refusal;
    const why = removalReason(query, body);
    if (!why.ok) return why.refusal;
    const removal = await suppressions.remove(key.accountId, parsed.fields, why.fields.reason);
    return removal.kind === 'removed' ? json(200, { data: removal.ids.map(deleted) }) : reasonMissing;
  };
}

function removalKeys(body: unknown) {
  if (typeof body !== 'object' || body === null || !Object.hasOwn(body, 'ids')) {
    return parseFields(
      body,
      byAddress.transform(({ emails }) => emails.map((address): SuppressionKey => ({ address }))),
      ['emails'],
      suppressionFields,
    );
  }
  if (Object.hasOwn(body, 'emails')) {
    return { ok: false, refusal: invalid('emails cannot be used together with ids.', 400) } as const;
  }
  const keys = byId.transform(({ ids }) => ids.map((id): SuppressionKey => ({ id })));
  return parseFields(body, keys, ['ids'], suppressionFields);
}

function deleted(id: string) {
  return { object: 'suppression', id, deleted: true };
}
