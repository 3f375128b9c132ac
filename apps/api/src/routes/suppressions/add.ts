import { LIMITS } from '@postrider/domain';
import type { AddedSuppression, SuppressionStore } from '@postrider/store';
import { z } from 'zod';
import { json } from '../../http/answer.ts';
import { parseFields, suppressionFields } from '../../http/fields.ts';
import type { Handle } from '../route.ts';
import { writtenAddress } from './written-address.ts';

const one = z.object({ email: writtenAddress });

const many = z.object({
  emails: z
    .array(z.unknown(), { error: 'is not an array of email addresses' })
    .refine((list) => list.length > 0 && list.length <= LIMITS.suppressionsBatch, {
      error: `does not have 1 to ${LIMITS.suppressionsBatch} addresses`,
    })
    .pipe(z.array(writtenAddress)),
});

/** `POST /v1/suppressions`: 201 where one is made (contract 7.2), 200 with its id where the address has one already. */
export function addSuppression(suppressions: Pick<SuppressionStore, 'add'>): Handle {
  return async ({ key, body }) => {
    const parsed = parseFields(body, one, ['email'], suppressionFields);
    if (!parsed.ok) return parsed.refusal;
    const added = await suppressions.add(key.accountId, [parsed.fields.email]);
    const [first] = added;
    if (first === undefined) throw new Error('one address has one suppression');
    return json(statusOf(added), { object: 'suppression', id: first.id });
  };
}

/** `POST /v1/suppressions/batch/add`: all or none; an entry for each address of the request, in its order. */
export function addSuppressions(suppressions: Pick<SuppressionStore, 'add'>): Handle {
  return async ({ key, body }) => {
    const parsed = parseFields(body, many, ['emails'], suppressionFields);
    if (!parsed.ok) return parsed.refusal;
    const { emails } = parsed.fields;
    const added = await suppressions.add(key.accountId, [...new Set(emails)]);
    const ids = new Map(added.map(({ address, id }) => [address, id]));
    const data = emails.map((address) => ({ object: 'suppression', id: ids.get(address) }));
    return json(statusOf(added), { data });
  };
}

function statusOf(added: readonly AddedSuppression[]): 200 | 201 {
  return added.some(({ isNew }) => isNew) ? 201 : 200;
}
