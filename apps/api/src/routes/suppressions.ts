import { ADDRESS_LENGTH, LIMITS, parseId, PATTERNS, plainAddress } from '@postrider/domain';
import type {
  AddedSuppression,
  Additions,
  Suppression,
  SuppressionKey,
  SuppressionOrigin,
  SuppressionStore,
} from '@postrider/store';
import { z } from 'zod';
import { json } from '../http/answer.ts';
import { resourceBody } from '../http/body-rules.ts';
import { parseFields, suppressionFieldRule } from '../http/fields.ts';
import { listAnswer } from '../http/list-answer.ts';
import { parsedText } from '../http/parsed-text.ts';
import { invalid, noSuch } from '../problems/answers.ts';
import { quoted } from '../problems/quoted.ts';
import type { Documented, KeyedRoute } from './route.ts';
import { idOf, named, nullableText, pageOf, text, time } from './schemas.ts';
import type { AnswerOf } from './schemas.ts';

/** Suppression routes have no rate limit (contract 8, rule 3). */
const MANAGE = { scope: 'suppressions:manage', limited: false } as const;

export function suppressionRoutes(suppressions: SuppressionStore): readonly Documented[] {
  return [
    addSuppression(suppressions),
    addSuppressions(suppressions),
    listSuppressions(suppressions),
    getSuppression(suppressions),
  ];
}

const ADDRESS_SCHEMA = { pattern: PATTERNS.plainAddress, maxLength: ADDRESS_LENGTH };

/** An address in a body. The validator returns the form in which the store keeps it. */
export const requestedAddress = parsedText(plainAddress, 'is not an email address', ADDRESS_SCHEMA);

const suppressionRequest = z.object({ email: requestedAddress }).meta({ id: 'SuppressionRequest' });
const createdSuppression = named('suppression', 'suppression');
const oneCreated = createdSuppression.meta({ id: 'CreatedSuppression' });

/** Contract 7.2: 201 when the suppression is new, 200 when the address already has one. */
export function addSuppression(suppressions: Pick<SuppressionStore, 'add'>): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'post',
    path: '/v1/suppressions',
    body: resourceBody,
    docs: {
      operationId: 'addSuppression',
      summary: 'Suppress an address',
      description: '201 where the suppression is new, 200 where the address has one already.',
      request: suppressionRequest,
      success: { status: 201, body: oneCreated, also: 200 },
      refusals: ['400 text', '422 text', '400 validation-failed'],
    },
    async handle({ key, body }) {
      const parsed = parseFields(body, suppressionRequest, ['email'], suppressionFieldRule);
      if (!parsed.ok) return parsed.refusal;
      const additions = await suppressions.add(key.accountId, [parsed.fields.email]);
      const [first] = additions.added;
      if (first === undefined) throw new Error('the store returned no suppression for an address');
      const created: AnswerOf<typeof oneCreated> = { object: 'suppression', id: first.id };
      return { ...json(statusOf(additions.added), created), written: writtenBy(additions) };
    },
  };
}

/** Checks the number of entries before each entry: a body may have very many. */
export function batchOf<Entry extends z.ZodType>(entry: Entry, fault: string, noun: string) {
  const { pattern, maxLength } = z.toJSONSchema(entry, { io: 'input' });
  const items = { pattern, maxLength };
  return z
    .array(z.unknown(), { error: fault })
    .refine((list) => list.length > 0 && list.length <= LIMITS.suppressionsBatch, {
      error: `does not have 1 to ${LIMITS.suppressionsBatch} ${noun}`,
    })
    .meta({ minItems: 1, maxItems: LIMITS.suppressionsBatch, items: { type: 'string', ...items } })
    .pipe(z.array(entry));
}

const suppressionBatchRequest = z
  .object({ emails: batchOf(requestedAddress, 'is not an array of email addresses', 'addresses') })
  .meta({ id: 'SuppressionBatchRequest' });
const manyCreated = z.object({ data: z.array(createdSuppression) }).meta({ id: 'CreatedSuppressions' });

/** The answer has an entry for each address of the request, in the same order, also for a repeated one. */
function addSuppressions(suppressions: SuppressionStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'post',
    path: '/v1/suppressions/batch/add',
    body: resourceBody,
    docs: {
      operationId: 'addSuppressions',
      summary: 'Suppress many addresses: all of them or none',
      description: '201 where one of them is new, else 200.',
      request: suppressionBatchRequest,
      success: { status: 201, body: manyCreated, also: 200 },
      refusals: ['400 text', '422 text', '400 validation-failed'],
    },
    async handle({ key, body }) {
      const parsed = parseFields(body, suppressionBatchRequest, ['emails'], suppressionFieldRule);
      if (!parsed.ok) return parsed.refusal;
      const { emails } = parsed.fields;
      const additions = await suppressions.add(key.accountId, [...new Set(emails)]);
      const { added } = additions;
      const ids = new Map(added.map(({ address, id }) => [address, id]));
      const data = emails.map((address) => {
        const id = ids.get(address);
        if (id === undefined) throw new Error('the store returned no suppression for an address');
        return { object: 'suppression', id } as const;
      });
      return {
        ...json<AnswerOf<typeof manyCreated>>(statusOf(added), { data }),
        written: writtenBy(additions),
      };
    },
  };
}

/**
 * The deliveries that the request wrote. A new suppression counts as at least one delivery, because the
 * suppression and its event stay stored.
 */
function writtenBy({ added, deliveries }: Additions): number {
  return Math.max(deliveries, added.filter(({ isNew }) => isNew).length);
}

function statusOf(added: readonly AddedSuppression[]): 200 | 201 {
  return added.some(({ isNew }) => isNew) ? 201 : 200;
}

const ORIGINS = [
  'bounce',
  'complaint',
  'manual',
  'unsubscribe',
] as const satisfies readonly SuppressionOrigin[];
const origin = z.enum(ORIGINS);

const suppressionFieldsShown = {
  id: idOf('suppression'),
  email: text,
  topic_id: nullableText.meta({ description: 'null: about anything' }),
  origin,
  source_id: nullableText.meta({ description: 'The message that it came of.' }),
  created_at: time,
};
const suppressionEntry = z.object(suppressionFieldsShown);
const suppressionPage = pageOf(suppressionEntry).meta({ id: 'SuppressionPage' });

function listSuppressions(suppressions: SuppressionStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'get',
    path: '/v1/suppressions',
    docs: {
      operationId: 'listSuppressions',
      summary: 'List suppressions, newest first',
      success: { status: 200, body: suppressionPage },
      paged: true,
      query: z.object({ origin: origin.optional().meta({ description: 'Only those that came about so.' }) }),
      refusals: ['400 validation-failed'],
    },
    async handle({ key, query }) {
      const given = query.getAll('origin');
      const wanted = ORIGINS.find((each) => each === given[0]) ?? null;
      if (given.length > 1 || (given.length === 1 && wanted === null)) {
        return invalid(`origin ${quoted(given.join())} is not one of ${ORIGINS.join(', ')}.`, 400);
      }
      return listAnswer(query, {
        noun: 'suppression',
        read: (request) => suppressions.list(key.accountId, request, wanted),
        show: suppressionObject,
        refusalStatus: 400,
      });
    },
  };
}

const oneSuppression = z
  .object({ object: z.literal('suppression'), ...suppressionFieldsShown })
  .meta({ id: 'Suppression' });

function getSuppression(suppressions: SuppressionStore): Documented<KeyedRoute> {
  return {
    ...MANAGE,
    method: 'get',
    path: '/v1/suppressions/:id',
    docs: {
      operationId: 'getSuppression',
      summary: 'Read a suppression, by its id or its address',
      success: { status: 200, body: oneSuppression },
      refusals: ['not-found'],
    },
    async handle({ key, id: idOrAddress }) {
      const asked = suppressionKey(idOrAddress);
      const found = asked === null ? null : await suppressions.find(key.accountId, asked);
      if (found === null) return noSuch('suppression');
      return json<AnswerOf<typeof oneSuppression>>(200, {
        object: 'suppression',
        ...suppressionObject(found),
      });
    },
  };
}

/**
 * Reads the `:id` of a path. @returns null when it is neither an id nor an address: the answer is then 404
 */
export function suppressionKey(idOrAddress: string): SuppressionKey | null {
  const id = parseId('suppression', idOrAddress);
  if (id !== null) return { id };
  const address = plainAddress(idOrAddress);
  return address === null ? null : { address };
}

/** A suppression in the shape of Resend's, with its topic. */
function suppressionObject(suppression: Suppression): AnswerOf<typeof suppressionEntry> {
  return {
    id: suppression.id,
    email: suppression.address,
    topic_id: suppression.topicId,
    origin: suppression.origin,
    source_id: suppression.emailId,
    created_at: suppression.createdAt.toISOString(),
  };
}
